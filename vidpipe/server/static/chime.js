// Two soft notes, made here; silent unless the viewer has asked for them.

const NOTES_HZ = [659.3, 880];
const REST_MS = 5_000;

export class Chime {
  #context = null;
  #playedAt = -REST_MS;

  /** Turn it on or off; on: within a click, without which browsers play nothing. */
  set isOn(isOn) {
    if (isOn && !this.#context) {
      this.#context = new AudioContext();
      this.play();
    } else if (!isOn && this.#context) {
      this.#context.close();
      this.#context = null;
    }
  }

  play() {
    const now = performance.now();
    if (!this.#context || now - this.#playedAt < REST_MS) return;
    this.#playedAt = now;
    NOTES_HZ.forEach((pitch, index) => this.#note(pitch, this.#context.currentTime + index * 0.16));
  }

  #note(pitch, at) {
    const tone = new OscillatorNode(this.#context, { frequency: pitch });
    const level = new GainNode(this.#context, { gain: 0 });
    level.gain.setValueAtTime(0, at);
    level.gain.linearRampToValueAtTime(0.12, at + 0.02);
    level.gain.exponentialRampToValueAtTime(0.0001, at + 0.5);
    tone.connect(level).connect(this.#context.destination);
    tone.start(at);
    tone.stop(at + 0.55);
  }
}
