// The keyboard: one table of keys, each with what it does.

/**
 * @param {Record<string, (event: KeyboardEvent) => void>} actions by `event.key`; `digit` takes the
 *   number keys' number. Keys with Ctrl, Alt or Meta are the browser's, as is all typing.
 */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (isTyping(event.target) && event.key !== "Escape") return;
    // Enter and space belong to what has the focus.
    const isDigit = /^[1-9]$/.test(event.key);
    const action = isDigit ? () => actions.digit(Number(event.key)) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

function isTyping(target) {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select, textarea");
}
