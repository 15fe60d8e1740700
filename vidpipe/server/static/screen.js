// The screen itself: all of it for the wall, and awake for as long as the wall is looked at.

/** Full screen, or back. */
export async function toggleFullScreen() {
  try {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await document.documentElement.requestFullscreen({ navigationUI: "hide" });
  } catch {
    // the browser's setting, or a kiosk that has no other
  }
}

export class WakeLock {
  /** Called with a sentence for people whenever it stands differently. */
  onChange = () => {};

  #lock = null;

  start() {
    document.addEventListener("visibilitychange", () => this.#take());
    this.#take();
  }

  async #take() {
    if (document.visibilityState !== "visible" || (this.#lock && !this.#lock.released)) return;
    if (!("wakeLock" in navigator)) {
      this.onChange(
        isSecureContext
          ? "This browser can't keep the screen on: turn off the machine's screen saver."
          : "The screen may go dark: browsers keep it on only for pages by HTTPS or on localhost. " +
              "Configure server.tls, or turn off the machine's screen saver.",
      );
      return;
    }
    try {
      this.#lock = await navigator.wakeLock.request("screen");
      this.onChange("The screen stays on while this page is in sight.");
    } catch {
      this.onChange(
        "The screen may go dark: the browser refuses to keep it on, as it does on low battery. " +
          "Turn off the machine's screen saver.",
      );
    }
  }
}
