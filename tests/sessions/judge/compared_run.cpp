#include "tests/sessions/judge/compared_run.h"

#include <optional>

#include "core/base/policy_set.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/trace_writer.h"

namespace hybridscope::test {
namespace {

using PoliciesOf = std::function<PolicySet(const ForeignHeader&)>;

std::string difference(const std::vector<std::string>& lines, const PoliciesOf& policies_of) {
  TraceReader reader("t.jsonl");
  std::optional<EngineComparison> comparison;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto read =
        reader.read_line(std::string_view(lines[i]), static_cast<std::int64_t>(i) + 1);
    if (!read.ok()) return read.error().message;
    if (read.value() == TraceLine::header) {
      auto created =
          EngineComparison::create(reader.header(), policies_of(reader.header()),
                                   [&reader](RequestId id) { return reader.name_of(id); });
      if (!created.ok()) return created.error().message;
      comparison.emplace(std::move(created).value());
    } else {
      comparison->compare(reader.step());
    }
  }
  const auto& found = comparison->first_difference();
  return found ? format_difference(*found) : std::string();
}

std::vector<std::string> text_of(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> text;
  for (const nlohmann::json& line : lines) text.push_back(line.dump());
  return text;
}

}  // namespace

std::vector<nlohmann::json> traced_run(const EngineConfig& config,
                                       const std::vector<AddRequest>& requests,
                                       const std::function<void(Engine&)>& before_step) {
  Engine engine = Engine::create(config).value();
  TraceWriter writer(config, traced_requests_of(engine));
  for (const AddRequest& request : requests) engine.add_request(request).value();
  std::vector<nlohmann::json> lines = {nlohmann::json::parse(writer.header("told run"))};
  while (engine.num_unfinished() > 0) {
    if (before_step) before_step(engine);
    lines.push_back(nlohmann::json::parse(writer.step(engine.step())));
  }
  return lines;
}

std::string first_difference(const std::vector<std::string>& lines, const PolicySet& policies) {
  return difference(lines, [&](const ForeignHeader&) { return policies; });
}

std::string first_difference(const std::vector<nlohmann::json>& lines, const PolicySet& policies) {
  return first_difference(text_of(lines), policies);
}

std::string first_difference(const std::vector<nlohmann::json>& lines,
                             const EngineProfile& profile) {
  return difference(text_of(lines), [&](const ForeignHeader& header) {
    return compared_policies(header, profile);
  });
}

}  // namespace hybridscope::test
