// What scrolls by itself can be scrolled by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll("pre, .table-wrapper")) {
    if (one.scrollWidth > one.clientWidth) {
      one.tabIndex = 0;
    }
  }
});
