#include "integrations/python/src/given.h"

#include <fmt/core.h>

#include "integrations/python/src/raise.h"
#include "sessions/record/session_header.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {

CheckScope Given::check() const {
  const auto name = get<std::string>("check", "step");
  if (const auto scope = check_scope_of(name)) return *scope;
  raise(invalid_input(fmt::format("check {} (expected step or all)", quoted_text(name))));
}

RecordOption Given::record() const {
  const auto name = get<std::string>("level", "blocks");
  const auto level = record_level_of(name);
  if (!level)
    raise(invalid_input(
        fmt::format("level {} (expected counts, blocks or full)", quoted_text(name))));
  RecordOption record{.place = get<std::string>("record"), .level = *level, .quiet = true};
  if (!record.place.empty() && parse_session_place(record.place).file.empty())
    raise(invalid_input(fmt::format("record {} names no file", quoted_text(record.place))));
  return record;
}

}  // namespace hybridscope
