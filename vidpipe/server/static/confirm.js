// Asks before something is done that others notice.

/**
 * @param {string} question
 * @param {string} verb on the button that does it
 * @returns {Promise<boolean>}
 */
export function confirmed(question, verb) {
  const dialog = document.getElementById("confirm-dialog");
  document.getElementById("confirm-question").textContent = question;
  document.getElementById("confirm-yes").textContent = verb;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
