#include "sessions/explain/explain_finding.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/base/result.h"
#include "sessions/explain/explain_parts.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

// `groups`: in words.
std::string where(const Finding& finding, const std::string& groups, const Names& names) {
  std::string text = fmt::format("step {}", finding.step);
  if (finding.request.value >= 0) text += fmt::format(" {}", names.request(finding.request));
  if (finding.row >= 0) text += fmt::format(" row {}", finding.row);
  if (!groups.empty()) text += " " + groups;
  if (finding.column >= 0) text += fmt::format(" column {}", finding.column);
  return text;
}

std::string group_words(const Finding& finding, const Names& names) {
  return finding.group >= 0 ? names.group(finding.group) : std::string();
}

// "20", "20 and 23", "20, 23 and 26".
std::string enumerated(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0 ? "" : i + 1 < numbers.size() ? ", " : " and ") + std::to_string(numbers[i]);
  return text;
}

// "groups 1 to 3 (mamba2)", "groups 1, 3 and 4"; the kind, where all have the same.
std::string groups_words(const std::vector<std::int32_t>& groups, const Names& names) {
  if (groups.size() == 1) return names.group(groups.front());
  const auto kind_of = [&](std::int32_t group) {
    const std::string name = names.group(group);
    const std::size_t kind = name.find(" (");
    return kind == std::string::npos ? std::string() : name.substr(kind);
  };
  std::string kind = kind_of(groups.front());
  if (!std::ranges::all_of(groups, [&](std::int32_t group) { return kind_of(group) == kind; }))
    kind.clear();
  const bool in_a_row =
      groups.back() - groups.front() + 1 == static_cast<std::int32_t>(groups.size());
  if (in_a_row && groups.size() > 2)
    return fmt::format("groups {} to {}{}", groups.front(), groups.back(), kind);
  return "groups " + enumerated(groups) + kind;
}

// What a line's findings have in common, but for the kind of state.
auto place_of(const Finding& f) {
  return std::tuple(f.rule, f.step, f.request, f.row, f.column, f.expected, f.seen, f.cause.kind,
                    f.cause.step, f.cause.request);
}

bool is_of_state(const Finding& f) {
  return (f.content == ContentKind::temporal || f.content == ContentKind::conv) && f.group >= 0 &&
         f.layer < 0 && f.state < 0 && f.element < 0;
}

// Is it about the same kind of state as the line, in another group?
bool goes_on(std::span<const Finding* const> all, const FindingLine& line, const Finding& f) {
  const Finding& first = *all[line.front()];
  return is_of_state(first) && is_of_state(f) && first.content == f.content &&
         first.detail == f.detail && place_of(first) == place_of(f) &&
         std::ranges::none_of(line, [&](std::size_t one) { return all[one]->group == f.group; });
}

// Are both about the same groups and blocks, and of different kinds of state?
bool is_other_kind(std::span<const Finding* const> all, const FindingLine& a,
                   const FindingLine& b) {
  const Finding& first = *all[a.front()];
  const Finding& other = *all[b.front()];
  return is_of_state(first) && is_of_state(other) && first.content != other.content &&
         place_of(first) == place_of(other) &&
         std::ranges::equal(a, b, [&](std::size_t one, std::size_t two) {
           return all[one]->group == all[two]->group && all[one]->block == all[two]->block;
         });
}

// "; the same in blocks 20 and 23, and of the conv windows".
std::string same_words(std::span<const Finding* const> line) {
  const Finding& first = *line.front();
  std::vector<std::int32_t> blocks;
  bool other_kind = false;
  for (const Finding* finding : line.subspan(1)) {
    other_kind = other_kind || finding->content != first.content;
    if (finding->content == first.content) blocks.push_back(finding->block);
  }
  std::string text;
  if (!blocks.empty())
    text =
        fmt::format("; the same in block{} {}", blocks.size() == 1 ? "" : "s", enumerated(blocks));
  if (!other_kind) return text;
  return text + (text.empty() ? "; the same of the " : ", and of the ") +
         (first.content == ContentKind::conv ? "state" : "conv window") +
         (blocks.empty() ? "" : "s");
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
  const Finding* const line[] = {&finding};
  return explain_findings(line, names);
}

std::vector<FindingLine> lines_of_findings(std::span<const Finding* const> findings) {
  // The line of the same step that fits, else none; the lines of a step are the last ones.
  const auto find = [&](std::vector<FindingLine>& lines, std::int64_t step, const auto& fits) {
    auto line = lines.rbegin();
    while (line != lines.rend() && findings[line->front()]->step == step && !fits(*line)) ++line;
    return line == lines.rend() || !fits(*line) ? nullptr : &*line;
  };
  std::vector<FindingLine> of_one_kind;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = *findings[i];
    FindingLine* const line = find(of_one_kind, finding.step, [&](const FindingLine& known) {
      return goes_on(findings, known, finding);
    });
    if (line != nullptr)
      line->push_back(i);
    else
      of_one_kind.push_back({i});
  }
  std::vector<FindingLine> lines;
  for (const FindingLine& one : of_one_kind) {
    FindingLine* const line =
        find(lines, findings[one.front()]->step,
             [&](const FindingLine& known) { return is_other_kind(findings, known, one); });
    if (line != nullptr)
      line->insert(line->end(), one.begin(), one.end());
    else
      lines.push_back(one);
  }
  return lines;
}

std::string explain_findings(std::span<const Finding* const> line, const Names& names) {
  HS_EXPECT(!line.empty());
  const Finding& first = *line.front();
  std::string groups = group_words(first, names);
  if (line.size() > 1) {
    std::vector<std::int32_t> numbers;
    for (const Finding* finding : line)
      if (finding->content == first.content) numbers.push_back(finding->group);
    groups = groups_words(numbers, names);
  }
  std::string text =
      fmt::format("{}: {}: {}", rule_info(first.rule).slug, where(first, groups, names),
                  finding_words::what(first, names) + same_words(line));
  const std::string cause = finding_words::cause(first);
  if (!cause.empty()) text += "; " + cause;
  return text + fmt::format(" ({})", finding_words::source(first, names));
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

namespace hybridscope::finding_words {

// The sources of the rules of findings, and stable names of their values.

namespace {

std::string_view source_of_write(WriteKind kind, const Names& names) {
  switch (kind) {
    case WriteKind::pre_copy: return "vLLM v1/worker/mamba_utils.py preprocess_mamba";
    case WriteKind::post_copy:
      return names.mamba_cache_mode == MambaCacheMode::all
                 ? "docs/differences.md all_mode_speculation"
                 : "vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel";
    case WriteKind::attention: return "vLLM v1/worker/block_table.py compute_slot_mapping";
    case WriteKind::block_copy: return kBlockCopySource;
    default: return "vLLM v1/attention/backends/mamba_attn.py and gdn_attn.py build";
  }
}

}  // namespace

std::string_view source(const Finding& finding, const Names& names) {
  switch (finding.rule) {
    case Rule::reference_count: return "vLLM v1/core/block_pool.py touch and free_blocks";
    case Rule::label_mismatch:
      return finding.cause.kind == WriteKind::never ? "vLLM v1/core/block_pool.py cache_full_blocks"
                                                    : source_of_write(finding.cause.kind, names);
    case Rule::copy_out_of_range:
    case Rule::conflicting_copies: return "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta";
    case Rule::padded_row_not_null:
      if (finding.detail == "a row of a dummy run")
        return "vLLM v1/worker/gpu_model_runner.py _dummy_run";
      [[fallthrough]];
    case Rule::block_table_mismatch:
      return "vLLM v1/worker/gpu_model_runner.py _update_states and _prepare_inputs";
    case Rule::hit_longer_than_group:
      return "vLLM v1/core/kv_cache_coordinator.py find_longest_cache_hit";
    case Rule::foreign_row_datum:
      if (finding.detail.ends_with("token_indx"))
        return "vLLM v1/attention/backends/gdn_attn.py build";
      if (finding.detail.starts_with("slot of"))
        return "vLLM v1/worker/gpu/states.py add_request and remove_request";
      return finding.detail.ends_with("another row")
                 ? "vLLM v1/worker/gpu_model_runner.py _build_attention_metadata"
                 : "vLLM v1/worker/gpu_input_batch.py condense and swap_states";
    case Rule::rejected_draft_counted: return "vLLM v1/core/sched/scheduler.py update_from_output";
    case Rule::no_progress:
    case Rule::schedule_over_limit:
    case Rule::drafts_cut: return "vLLM v1/core/sched/scheduler.py schedule";
    case Rule::chunk_off_grid: return "vLLM v1/core/sched/scheduler.py _mamba_block_aligned_split";
    case Rule::published_not_written:
      return "vLLM model_executor/layers/mamba/checkpoint.py MambaPrefillCheckpointBuilder";
    case Rule::graph_not_captured: return "vLLM v1/cudagraph_dispatcher.py dispatch";
    case Rule::state_bytes_wrong: return "docs/architecture.md, State in bytes";
    case Rule::state_differs:
    case Rule::logits_differ:
    case Rule::acceptance_differs: return "docs/gpu.md, What is compared";
    case Rule::copy_differs: return source_of_write(finding.cause.kind, names);
    case Rule::state_changed:
    case Rule::write_missing:
    case Rule::state_unchanged: return "docs/trace-format.md, States";
    case Rule::expectation_unused: return "docs/scenario-format.md, Script";
    case Rule::attention_slot_unwritten: return source_of_write(WriteKind::attention, names);
    case Rule::metadata_inconsistent:
      if (finding.detail.ends_with(" copy"))
        return "vLLM v1/worker/mamba_utils.py collect_mamba_copy_meta";
      [[fallthrough]];
    default:
      return source_of_write(
          finding.content == ContentKind::attention ? WriteKind::attention : finding.cause.kind,
          names);
  }
}

std::string_view write_kind_name(WriteKind kind) {
  static constexpr std::string_view kNames[] = {"",          "prefill",   "decode",    "pre_copy",
                                                "post_copy", "attention", "block_copy"};
  return name_at(kNames, kind);
}

std::string_view content_name(ContentKind content) {
  static constexpr std::string_view kNames[] = {"", "temporal", "conv", "attention"};
  return name_at(kNames, content);
}

}  // namespace hybridscope::finding_words
