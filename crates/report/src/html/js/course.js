// The course of the run: a picture that is drawn already, with names as text.

function showCourse({ course }) {
  const section = find("course");
  section.hidden = !course;
  replace(section);
  if (!course) return;
  const holder = el("div.course.scroll", { tabindex: "0", role: "group", "aria-label": "Course of the run" });
  holder.innerHTML = course;
  replace(section, el("h2", { id: "course-title" }, "Course of the run"), holder);
}
