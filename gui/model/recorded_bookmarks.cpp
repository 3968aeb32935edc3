// The bookmarks of a recorded session: they are kept in its file.
#include <fmt/core.h>

#include "gui/model/recorded_run.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

// The window is blocked while another program writes to the file.
constexpr std::int64_t kBookmarkTimeoutMs = 1000;

}  // namespace

void RecordedRun::show_bookmarks(const std::vector<Bookmark>& kept) {
  bookmarks_.clear();
  for (const Bookmark& bookmark : kept)
    bookmarks_.push_back({.step = bookmark.step, .note = bookmark.note});
}

// The file is open for writing only during the change.
Status RecordedRun::change_bookmarks(const std::function<Status(SessionFile&)>& change) {
  auto file = SessionFile::open(place_.file, FileAccess::write, kBookmarkTimeoutMs);
  if (!file.ok()) return file.error();
  const Status done = change(file.value());
  const auto kept = file.value().bookmarks(info().session);
  if (kept.ok()) show_bookmarks(kept.value());
  return done;
}

Status RecordedRun::set_bookmark(std::int64_t step, std::string_view note) {
  return change_bookmarks([&](SessionFile& file) -> Status {
    const auto kept = file.bookmarks(info().session);
    if (!kept.ok()) return kept.error();
    std::int64_t last = 0;
    for (const Bookmark& bookmark : kept.value())
      if (bookmark.step == step) last = bookmark.bookmark;
    if (last != 0) return file.set_bookmark_note(info().session, last, note);
    const auto added = file.add_bookmark(info().session, step, note);
    return added.ok() ? Status(Ok{}) : Status(added.error());
  });
}

Status RecordedRun::remove_bookmarks(std::int64_t step) {
  return change_bookmarks([&](SessionFile& file) -> Status {
    const auto kept = file.bookmarks(info().session);
    if (!kept.ok()) return kept.error();
    bool found = false;
    for (const Bookmark& bookmark : kept.value()) {
      if (bookmark.step != step) continue;
      found = true;
      if (Status removed = file.remove_bookmark(info().session, bookmark.bookmark); !removed.ok())
        return removed;
    }
    if (found) return Ok{};
    return Error{ErrorKind::not_found, fmt::format("step {} has no bookmark", step)};
  });
}

}  // namespace hybridscope
