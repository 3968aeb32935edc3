#include "sessions/live/rerun.h"

#include <fmt/core.h>

#include <limits>

namespace hybridscope {
namespace {

void count(std::int64_t step, std::int64_t& number, std::int64_t& first) {
  if (number++ == 0) first = step;
}

void compare(const StepStamp& recorded, const StepDigests& made, RerunReport& report) {
  if (recorded.digests == made) {
    ++report.num_equal;
    return;
  }
  if (report.num_different == 0) report.sections = different_sections(recorded.digests, made);
  count(recorded.step, report.num_different, report.first_different);
}

}  // namespace

Result<RerunReport> rerun(StepSource& again, StepSource& recorded, RecordedEnd end) {
  if (again.digest_version() != recorded.digest_version())
    return Error{ErrorKind::not_available,
                 other_digests(recorded) + ": its steps cannot be compared with those made now"};
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  RerunReport report;
  auto stored = recorded.next();
  auto made = again.next();
  while (stored.ok() && made.ok() && (stored.value() != nullptr || made.value() != nullptr)) {
    const std::int64_t then = stored.value() == nullptr ? kNone : stored.value()->step;
    const std::int64_t now = made.value() == nullptr ? kNone : made.value()->step;
    if (then == kNone && end == RecordedEnd::before_it) break;
    if (then == now) compare(*stored.value(), made.value()->digests, report);
    if (then < now) count(then, report.num_missing, report.first_missing);
    if (now < then) count(now, report.num_extra, report.first_extra);
    if (then <= now) stored = recorded.next();
    if (now <= then) made = again.next();
  }
  if (!stored.ok()) return stored.error();
  if (!made.ok()) return made.error();
  return report;
}

std::string other_digests(const StepSource& recorded) {
  if (recorded.digest_version() == kDigestVersion) return {};
  return fmt::format("{} was recorded with other digests (version {}, this program makes {})",
                     recorded.title(), recorded.digest_version(), kDigestVersion);
}

std::vector<StepSection> different_sections(const StepDigests& a, const StepDigests& b) {
  std::vector<StepSection> sections;
  for (std::size_t i = 0; i < kNumStepSections; ++i)
    if (const auto section = static_cast<StepSection>(i); a[section] != b[section])
      sections.push_back(section);
  return sections;
}

std::string section_list(const std::vector<StepSection>& sections) {
  std::string list;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (i > 0) list += i + 1 == sections.size() ? " and " : ", ";
    list += step_section_name(sections[i]);
  }
  return list;
}

}  // namespace hybridscope
