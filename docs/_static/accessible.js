// What scrolls sideways can be scrolled by the keyboard, and headings of the sidebar have a level.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.setAttribute("aria-level", "2");
  for (const block of document.querySelectorAll("pre, .table-wrapper"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
});
