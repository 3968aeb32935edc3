#include "sessions/explain/explain_finding.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sessions/explain/finding_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

std::string where(const Finding& finding, const Names& names) {
  std::string text = fmt::format("step {}", finding.step);
  if (finding.request.value >= 0) text += fmt::format(" {}", names.request(finding.request));
  if (finding.row >= 0) text += fmt::format(" row {}", finding.row);
  if (finding.group >= 0) text += fmt::format(" {}", names.group(finding.group));
  if (finding.column >= 0) text += fmt::format(" column {}", finding.column);
  return text;
}

Json id_or_null(std::int32_t value) { return value >= 0 ? Json(value) : Json(); }

Json request_or_null(RequestId request, const Names& names) {
  return request.value >= 0 ? Json(names.request(request)) : Json();
}

Json cause_to_json(const WriteEvent& cause, const Names& names) {
  if (cause.kind == WriteKind::never) return {};
  return {{"kind", finding_words::write_kind_name(cause.kind)},
          {"step", cause.step},
          {"ordinal", cause.ordinal},
          {"request", request_or_null(cause.request, names)},
          {"num_tokens", cause.num_tokens}};
}

}  // namespace

std::string explain_finding(const Finding& finding, const Names& names) {
  std::string text = fmt::format("{}: {}: {}", rule_info(finding.rule).slug, where(finding, names),
                                 finding_words::what(finding, names));
  const std::string cause = finding_words::cause(finding);
  if (!cause.empty()) text += "; " + cause;
  return text + fmt::format(" ({})", finding_words::source(finding, names));
}

Json finding_to_json(const Finding& finding, const Names& names) {
  const RuleInfo& rule = rule_info(finding.rule);
  const auto content = finding_words::content_name(finding.content);
  Json json = {{"rule", rule.slug},
               {"severity", rule.severity == Severity::error ? "error" : "warning"},
               {"step", finding.step},
               {"request", request_or_null(finding.request, names)},
               {"row", id_or_null(finding.row)},
               {"group", id_or_null(finding.group)},
               {"content", content.empty() ? Json() : Json(content)},
               {"column", id_or_null(finding.column)},
               {"block", finding.block == -1 ? Json() : Json(finding.block)},
               {"expected", finding.expected == -1 ? Json() : Json(finding.expected)},
               {"seen", finding.seen == -1 ? Json() : Json(finding.seen)},
               {"detail", finding.detail.empty() ? Json() : Json(finding.detail)},
               {"cause", cause_to_json(finding.cause, names)},
               {"text", explain_finding(finding, names)}};
  if (finding.layer < 0) return json;
  json["layer"] = finding.layer;
  json["state"] = finding.state;
  json["element"] = finding.element;
  return json;
}

}  // namespace hybridscope
