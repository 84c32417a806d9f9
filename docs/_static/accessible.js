// What scrolls sideways can be scrolled by the keyboard, headings of the sidebar have a level, and the two sidebars names.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".caption[role=heading]")) caption.setAttribute("aria-level", "2");
  for (const [name, text] of [["sidebar-drawer", "Pages"], ["toc-drawer", "On this page"]])
    document.querySelector(`aside.${name}`)?.setAttribute("aria-label", text);
  for (const block of document.querySelectorAll("pre, .table-wrapper"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
});
