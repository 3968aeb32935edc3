#include "tests/sessions/explain/explained_sentences.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/base/ids.h"
#include "core/engine/scheduler_setup.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/explain/explain_schedule.h"
#include "sessions/explain/forward_rows.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::test {
namespace {

class Conditions {
 public:
  Conditions(const ToldStep& step, int& num_checked)
      : step_(step), config_(step.engine.config()), num_checked_(num_checked) {}

  void expect(bool holds, const std::string& what) {
    ++num_checked_;
    if (!holds) broken_.push_back(fmt::format("step {}: {}", step_.trace.step, what));
  }
  std::vector<std::string> take() { return std::move(broken_); }

  void all() {
    expect(step_.text.find("does not say what limited") == std::string::npos,
           "q without its terms");
    expect(step_.text.find("by these terms") == std::string::npos, "q is not what its terms give");
    for (const ScheduledTrace& scheduled : step_.trace.scheduled) tokens_of(scheduled);
    for (const SkippedRequest& skipped : step_.trace.skipped) skipped_request(skipped);
    for (const AdmissionLookup& lookup : step_.trace.lookups) lookup_of(lookup);
    for (std::size_t row = 0; row < step_.trace.rows.size(); ++row) sampled(step_.trace.rows[row]);
    rows();
    graph();
    written_columns();
    commits();
  }

 private:
  // The line of the request under the table of the schedule.
  std::string_view line_of(RequestId request) const {
    const std::string_view text = step_.text;
    const std::size_t table = text.find("known: prompt and output");
    const std::string begins = "\n  " + step_names_.request(request) + " ";
    const std::size_t begin = table == std::string::npos ? table : text.find(begins, table);
    if (begin == std::string::npos) return {};
    return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  }

  // A limit is said only if it cuts, and what is printed before q gives q.
  void tokens_of(const ScheduledTrace& s) {
    const std::string_view line = line_of(s.request);
    const std::string told(line);
    const std::size_t q = line.find("; q = ");
    if (q == std::string::npos) return expect(false, "no q is told: " + told);
    expect(number_at(line, q + 6) == s.num_scheduled_tokens, "q: " + told);
    std::string_view before = line.substr(0, q);
    const std::size_t split = before.find("; aligned split: ");
    std::string_view limits = before.substr(0, split);
    const std::size_t first = std::min(limits.find("; "), limits.size());
    int value = last_number(limits.substr(0, first), " = ");
    for (limits.remove_prefix(first); !limits.empty();) {
      limits.remove_prefix(2);
      expect(limits.starts_with("at most "), "not a limit: " + told);
      const int limit = number_at(limits, 8);
      expect(limit < value, "a limit that limits nothing: " + told);
      value = limit;
      limits.remove_prefix(std::min(limits.find("; "), limits.size()));
    }
    if (split != std::string::npos) value = after_split(before.substr(split), value);
    expect(value == s.num_scheduled_tokens, "what is printed before q gives another q: " + told);
  }

  static int number_at(std::string_view text, std::size_t at) {
    return std::atoi(std::string(text.substr(at, 12)).c_str());
  }
  // The number behind the last `mark`.
  static int last_number(std::string_view text, std::string_view mark) {
    const std::size_t at = text.rfind(mark);
    return at == std::string_view::npos ? -1 : number_at(text, at + mark.size());
  }

  static int after_split(std::string_view split, int value) {
    if (split.ends_with("as it is") || split.ends_with("not split")) return value;
    if (split.ends_with("so it waits")) return 0;
    if (split.starts_with("; aligned split: end = "))
      return last_number(split, ": cut to ") - last_number(split.substr(0, 24 + 12), "end = ");
    const std::size_t end = split.find_last_not_of("0123456789");
    return number_at(split, end + 1);
  }

  void skipped_request(const SkippedRequest& skipped) {
    const TokenTerms* terms = step_.trace.token_terms_of(skipped.request);
    const std::string words = explain_skip(skipped, terms, config_);
    const auto needs_terms = [&] {
      expect(terms != nullptr, "no terms behind: " + words);
      return terms != nullptr;
    };
    const std::int32_t block_size = config_.block_size;
    switch (skipped.reason) {
      case SkipReason::no_token_budget:
        if (terms != nullptr) expect(terms->num_new_tokens > terms->budget_left, words);
        break;
      case SkipReason::split_to_zero: {
        if (!needs_terms()) break;
        const std::int32_t begin = terms->num_computed_tokens;
        const std::int32_t end = begin + terms->num_new_tokens;
        expect(begin < end && begin / block_size == end / block_size, words);
        if (words.ends_with("all that it lacks"))
          expect(terms->num_new_tokens < terms->budget_left, words);
        break;
      }
      case SkipReason::max_model_len:
        if (needs_terms())
          expect(terms->num_computed_tokens + std::max(terms->num_new_tokens, 1) >=
                     config_.max_model_len,
                 words);
        break;
      case SkipReason::chunked_prefill_off: expect(!config_.enable_chunked_prefill, words); break;
      case SkipReason::max_num_seqs:
        expect(step_.trace.num_running >= config_.max_num_seqs, words);
        break;
      case SkipReason::preemption_in_step: expect(!step_.trace.preempted.empty(), words); break;
      case SkipReason::ends_in_flight:
      case SkipReason::frees_deferred:
      case SkipReason::frame_in_flight: expect(config_.async_scheduling, words); break;
      case SkipReason::allocation_refused: refused(skipped.request, words); break;
      case SkipReason::behind_refused_request: expect(false, "no scheduler gives this reason");
    }
  }

  // It got no block, and either its hit is written in this step, or fewer blocks are free than it
  // may ask for: those of its known tokens, this step's, drafts and copies, and the watermark.
  void refused(RequestId request, const std::string& words) {
    for (const CacheEvent& event : step_.trace.cache_events)
      expect(event.kind != CacheEventKind::column_set || event.request != request ||
                 event.block == kNullBlock,
             words + ", and it got a block");
    const auto& groups = config_.kv_cache_config.groups;
    const std::int32_t drafts = config_.num_speculative_tokens;
    std::int64_t most = std::llround(config_.watermark * config_.kv_cache_config.num_blocks) + 1;
    CachedPrefixes written_now;
    written_now.learn(step_.trace.cache_events, step_.engine);
    bool is_written_now = false;
    std::int32_t known = config_.max_model_len;
    for (const AdmissionLookup& lookup : step_.trace.lookups) {
      if (lookup.request != request) continue;
      known = lookup.explanation.max_cache_hit_length + 1;
      is_written_now = written_now.has_any(step_.engine, request, known);
    }
    const std::int32_t tokens = std::min(known + config_.max_num_batched_tokens + 2 * drafts + 2,
                                         config_.max_model_len + drafts + 1);
    for (const KVCacheGroup& group : groups) most += tokens / group.block_size() + 3 + drafts;
    expect(is_written_now || step_.trace.num_free_blocks < most, words);
  }

  // Tokens of which hits of the group are multiples, and that it looks for.
  std::int32_t unit_of(const KVCacheGroup& group) const {
    const bool inside = hits_end_inside_blocks(config_);
    return group.is_mamba() && inside ? config_.hash_block_size : group.block_size();
  }

  void lookup_of(const AdmissionLookup& lookup) {
    const LookupExplanation& why = lookup.explanation;
    const std::string words = explain_lookup(lookup, config_, step_names_);
    for (const ScheduledTrace& s : step_.trace.scheduled)
      if (s.request == lookup.request && lookup.admitted)
        expect(why.max_cache_hit_length + 1 == s.num_tokens, words);
    const auto& groups = config_.kv_cache_config.groups;
    std::int32_t least = why.max_cache_hit_length;
    for (const GroupLookup& group : why.groups) least = std::min(least, group.hit_length);
    for (std::size_t g = 0; g < why.groups.size(); ++g) {
      const GroupLookup& group = why.groups[g];
      const std::int32_t unit = unit_of(groups[g]);
      switch (group.stop) {
        case LookupStop::caching_off: expect(!config_.enable_prefix_caching, words); break;
        case LookupStop::limit_reached:
          expect(group.present_length / unit * unit + unit > why.max_cache_hit_length, words);
          break;
        case LookupStop::miss:
          expect(group.miss_block >= 0, words);
          expect((group.miss_block + 1) * groups[g].block_size() > group.present_length, words);
          missing(lookup.request, g, group.miss_block, words);
          break;
        case LookupStop::eagle_drop: expect(group.hit_length < group.present_length, words); break;
        case LookupStop::alignment:
          expect(group.hit_length % config_.scheduler_block_size == 0 ||
                     hits_end_inside_blocks(config_),
                 words);
          break;
        case LookupStop::cut_to_other_group: expect(least <= lookup.num_hit_tokens, words); break;
      }
    }
  }

  // A block that was there in every group of its kind during the whole step is not missing. Keys
  // that cover more tokens than their block, and states inside of blocks, are not looked at.
  void missing(RequestId request, std::size_t group, std::int32_t miss_block,
               const std::string& words) {
    const auto& groups = config_.kv_cache_config.groups;
    const bool inside = hits_end_inside_blocks(config_);
    if (num_hash_lookahead_tokens(config_) > 0 || (groups[group].is_mamba() && inside)) return;
    const std::int32_t end = (miss_block + 1) * groups[group].block_size();
    bool everywhere = true;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (groups[g].spec == groups[group].spec)
        everywhere = everywhere &&
                     step_.cached.has(step_.engine, request, static_cast<std::int32_t>(g), end);
    expect(!everywhere, words);
  }

  void sampled(const RowTrace& row) {
    const ScheduledTrace& s = step_.trace.scheduled_of(row);
    const std::int32_t a = row.num_sampled_tokens;
    const std::string words = explain_sample(s, row);
    if (a == 0)
      expect(
          s.num_computed_tokens + s.num_scheduled_tokens < s.num_tokens + s.num_output_placeholders,
          words);
    else if (s.placeholder_drafts || s.num_draft_tokens == 0)
      expect(a == 1, words);
    else
      expect(a >= 1 && a <= 1 + s.num_draft_tokens, words);
  }

  void rows() {
    const StepTrace& trace = step_.trace;
    if (step_.text.find("are padding: no tokens, seq_len 0, null blocks") == std::string::npos)
      return;
    const auto first = static_cast<std::int32_t>(trace.rows.size());
    expect(trace.common.num_reqs > first, "rows of padding");
    for (const GroupTrace& group : trace.groups)
      for (std::int32_t r = first; r < trace.common.num_reqs; ++r)
        for (std::int32_t c = 0; c < group.block_table.cols; ++c)
          expect(group.block_table.data[r * group.block_table.cols + c] == 0, "a block of padding");
  }

  void graph() {
    if (step_.trace.rows.empty()) return;
    if (step_.trace.uniform_decode)
      for (const RowTrace& row : step_.trace.rows)
        expect(step_.trace.scheduled_of(row).num_scheduled_tokens ==
                   1 + config_.num_speculative_tokens,
               "a uniform decode");
    const std::string broken = broken_graph_reason(step_.trace, step_.engine);
    expect(broken.empty(), broken);
  }

  // Columns that a line of a block table encloses: "1 0 x2 [5 7-9*] 0".
  static std::pair<std::int32_t, std::int32_t> enclosed(std::string_view cells) {
    std::int32_t column = 0;
    std::int32_t first = -1;
    while (!cells.empty()) {
      const std::size_t end = std::min(cells.find(' '), cells.size());
      std::string_view cell = cells.substr(0, end);
      cells.remove_prefix(std::min(end + 1, cells.size()));
      if (cell.starts_with('[')) first = column;
      if (cell.starts_with('[')) cell.remove_prefix(1);
      const std::size_t dash = cell.find('-');
      if (cell.starts_with('x'))
        column += number_at(cell, 1) - 1;
      else if (dash != std::string_view::npos)
        column += number_at(cell, dash + 1) - number_at(cell, 0) + 1;
      else
        ++column;
      if (cell.find(']') != std::string_view::npos) return {first, column - 1};
    }
    return {first, first - 1};
  }

  // The lines of the block tables, those of the worker where it has its own, row by row and group
  // by group.
  std::vector<std::string_view> table_lines() const {
    std::vector<std::string_view> lines;
    std::string_view text = step_.text;
    const std::size_t begin = text.find("\nBlock tables");
    if (begin == std::string_view::npos) return lines;
    text = text.substr(begin, text.find("\n  Columns from 0 on", begin) - begin);
    for (const std::string_view mark : {"  both       ", "  worker     "})
      for (std::size_t at = text.find(mark); at != std::string_view::npos;
           at = text.find(mark, at + 1)) {
        const std::size_t cells = at + mark.size();
        lines.push_back(text.substr(cells, text.find('\n', cells) - cells));
      }
    std::ranges::sort(lines, {}, [](std::string_view line) { return line.data(); });
    return lines;
  }

  // [ ] encloses all columns that the kernels write, and positions go where the text says.
  void written_columns() {
    const StepTrace& trace = step_.trace;
    const std::vector<std::string_view> lines = table_lines();
    expect(lines.size() == trace.rows.size() * trace.groups.size(), "a line for each block table");
    if (lines.size() != trace.rows.size() * trace.groups.size()) return;
    const auto is_enclosed = [&](std::int32_t row, std::size_t group, std::int32_t column) {
      const std::string_view line =
          lines[static_cast<std::size_t>(row) * trace.groups.size() + group];
      const auto [first, last] = enclosed(line);
      expect(first <= column && column <= last,
             fmt::format("column {} of row {}, group {} is written: {}", column, row, group, line));
    };
    for (std::size_t g = 0; g < trace.groups.size(); ++g) {
      const GroupTrace& group = trace.groups[g];
      for (const AttentionWrite& write : group.attention_writes) {
        const RowTrace& row = trace.rows[static_cast<std::size_t>(write.row)];
        const std::int32_t first = row.num_computed_tokens + write.first_token;
        expect(write.column == first / group.block_size &&
                   write.first_slot == first % group.block_size,
               "position p goes to column floor(p / B), slot p mod B");
        is_enclosed(write.row, g, write.column);
      }
      for (const ForwardPlaces& row : forward_rows(trace, group, config_.mamba_cache_mode)) {
        std::vector<StatePlace> places = row.targets;
        for (const PassedState& passed : row.passed) places.push_back(passed.place);
        for (const StatePlace& place : places)
          if (place.block > kNullBlock && place.column >= 0) is_enclosed(row.row, g, place.column);
      }
    }
  }

  void commits() {
    const StepTrace& trace = step_.trace;
    if (trace.committed_step != trace.step) return;
    expect(step_.text.find("by the rule, but") == std::string::npos ||
               step_.text.find("by the rule, but") < step_.text.find("\nCommit"),
           "a commit that its row does not explain");
  }

  const ToldStep& step_;
  const EngineConfig& config_;
  Names step_names_ = numbered_names();
  int& num_checked_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_conditions(const ToldStep& step, int& num_checked) {
  Conditions conditions(step, num_checked);
  conditions.all();
  return conditions.take();
}

}  // namespace hybridscope::test
