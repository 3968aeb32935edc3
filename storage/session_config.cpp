#include "storage/session_config.h"

#include "sessions/judge/trace_reader.h"
#include "sessions/record/session_plan.h"

namespace hybridscope {
namespace {

Result<EngineConfig> read_judge_config(const SessionInfo& info, const std::string& place) {
  TraceReader reader(place);
  const auto line = reader.read_line(std::string_view(info.header.plan), 1);
  if (!line) return line.error();
  if (line.value() != TraceLine::header)
    return Error{ErrorKind::corrupt, place + ": the plan of a judged session is not a header line"};
  return reader.header().config;
}

}  // namespace

Result<EngineConfig> read_session_config(const SessionInfo& info, const std::string& file) {
  const std::string place = file + ": plan of session '" + info.header.name + "'";
  if (info.header.kind == SessionKind::judge) return read_judge_config(info, place);
  auto setup = read_session_plan_setup(info.header.plan, place);
  if (!setup) return setup.error();
  return std::move(setup).value().config;
}

}  // namespace hybridscope
