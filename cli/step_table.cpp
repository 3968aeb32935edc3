#include "cli/step_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_parts.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxRequests = 8;  // of one step that are shown
constexpr std::size_t kMaxRequestColumns = 40;
constexpr std::size_t kMaxCopyColumns = 18;

constexpr const char* kLegend =
    "requests: class, computed tokens + tokens of this step (verify: one known token and the rest\n"
    "  drafts), aN: N tokens accepted, bonus token included.  hits: tokens served by the prefix "
    "cache.\n"
    "blocks: +new -freed =free.  copies: source column > destination column, +N: "
    "accept_token_bias.\n"
    "graph: runtime mode, tokens, rows; +N: padding.\n";

constexpr const char* kCountsLegend =
    "Recorded at level counts: sums of each step, not what its requests, blocks and copies were.\n"
    "blocks: =free.  copies: state copies, one a mamba group.  graph: runtime mode, tokens, rows; "
    "+N: padding.\n";

constexpr const char* kAsyncLegend =
    "8(10)+3: 8 tokens are computed, the scheduler counted 10, with all drafts of the frame in "
    "flight;\n"
    "  phN: N output tokens in flight before this frame.  < N: frame N returns: tokens it appends, "
    "then\n"
    "  c as the scheduler counts it, known tokens, and tokens still in flight.\n";

void append(std::string& cell, const std::string& part, const char* separator) {
  if (!cell.empty()) cell += separator;
  cell += part;
}

// "8(10)+3 ph3 a2": exact c, reported c where it differs, q, tokens in flight, a.
std::string describe_row(const RowTrace& row, const ScheduledTrace& scheduled) {
  std::string text = std::to_string(row.num_computed_tokens);
  if (scheduled.num_computed_tokens != row.num_computed_tokens)
    text += fmt::format("({})", scheduled.num_computed_tokens);
  text += fmt::format("+{}", scheduled.num_scheduled_tokens);
  if (scheduled.num_output_placeholders > 0)
    text += fmt::format(" ph{}", scheduled.num_output_placeholders);
  if (scheduled.num_draft_tokens > 0) text += fmt::format(" a{}", row.num_sampled_tokens);
  return text;
}

bool is_asynchronous(const StepTrace& trace) { return trace.committed_step != trace.step; }

void describe_commands(std::string& cell, const StepTrace& trace) {
  for (const CommandTrace& command : trace.commands)
    if (command.command == CommandKind::reset_prefix_cache || command.command == CommandKind::abort)
      append(cell,
             fmt::format("{}{}", command_name(command.command),
                         command.outcome == CommandOutcome::ignored ? " (ignored)" : ""),
             " | ");
}

std::string describe_rows(const StepTrace& trace, const Names& names) {
  std::string cell;
  for (std::size_t r = 0; r < std::min(trace.rows.size(), kMaxRequests); ++r) {
    const RowTrace& row = trace.rows[r];
    append(cell,
           fmt::format("{} {} {}", names.request(row.request), row_class_name(row.row_class),
                       describe_row(row, trace.scheduled_of(row))),
           " | ");
  }
  if (trace.rows.size() > kMaxRequests)
    append(cell, fmt::format("{} more", trace.rows.size() - kMaxRequests), " | ");
  for (const RequestId request : trace.preempted)
    append(cell, fmt::format("{} preempted", names.request(request)), " | ");
  describe_commands(cell, trace);
  if (!is_asynchronous(trace))
    for (const CommitTrace& commit : trace.committed)
      if (commit.finished && trace.rows.size() <= kMaxRequests)
        append(cell, fmt::format("{} done", names.request(commit.request)), " | ");
  return cell.empty() ? "nothing scheduled" : cell;
}

std::string describe_commit(const CommitTrace& commit) {
  const std::string counts = fmt::format("c{} known{} ph{}", commit.num_computed_tokens,
                                         commit.num_tokens, commit.num_output_placeholders);
  switch (commit.outcome) {
    case CommitOutcome::left_the_engine: return "has left: dropped";
    case CommitOutcome::stale_run: return "was reset: dropped";
    case CommitOutcome::chunk: return "chunk " + counts;
    case CommitOutcome::preempted:
      return fmt::format("+{} preempted, {}", commit.num_appended_tokens, counts);
    case CommitOutcome::taken: break;
  }
  return fmt::format("+{} {}", commit.num_appended_tokens,
                     commit.finished ? std::string("done") : counts);
}

// The line of the frame that returns; empty if it is the step's own.
std::string describe_returned(const StepTrace& trace, const Names& names) {
  std::string cell;
  if (!is_asynchronous(trace)) return cell;
  for (std::size_t i = 0; i < std::min(trace.committed.size(), kMaxRequests); ++i)
    append(cell,
           fmt::format("{} {}", names.request(trace.committed[i].request),
                       describe_commit(trace.committed[i])),
           " | ");
  if (trace.committed.size() > kMaxRequests)
    append(cell, fmt::format("{} more", trace.committed.size() - kMaxRequests), " | ");
  return cell;
}

// Free blocks, "-" where the trace does not say.
std::string describe_free(const StepTrace& trace, FreeBlocks free) {
  return free == FreeBlocks::known ? std::to_string(trace.num_free_blocks) : "-";
}

std::string describe_blocks(const StepTrace& trace, FreeBlocks free) {
  std::int32_t allocated = 0;
  std::int32_t freed = 0;
  for (const CacheEvent& event : trace.cache_events) {
    allocated += event.kind == CacheEventKind::allocated ? 1 : 0;
    freed += event.kind == CacheEventKind::freed && event.ref_cnt == 0 ? 1 : 0;
  }
  for (const CacheEvent& event : trace.commit_events)
    freed += event.kind == CacheEventKind::freed && event.ref_cnt == 0 ? 1 : 0;
  return fmt::format("+{} -{} ={}", allocated, freed, describe_free(trace, free));
}

void describe_launch(std::string& cell, const char* when, const CopyLaunch& launch,
                     const Names& names) {
  std::int32_t more = 0;
  std::int32_t shown = 0;
  for (const CopyDecisionTrace& copy : launch.decisions) {
    if (!copy.decision.copies()) continue;
    if (++shown > 3) {
      ++more;
      continue;
    }
    append(cell,
           fmt::format("{} {} {}>{}{}", when, names.request(copy.request), copy.decision.src_col,
                       copy.decision.dst_col,
                       copy.decision.accept_token_bias > 0
                           ? fmt::format(" +{}", copy.decision.accept_token_bias)
                           : ""),
           "; ");
  }
  if (more > 0) append(cell, fmt::format("{} more {}", more, when), "; ");
}

std::string describe_graph(const StepTrace& trace, std::int32_t rows) {
  if (rows == 0) return "";
  const std::int32_t padded_tokens = trace.graph.num_tokens_padded - trace.num_scheduled_tokens;
  const std::int32_t padded_rows = trace.graph.num_reqs_padded - rows;
  const auto padding = [](std::int32_t count) {
    return count > 0 ? fmt::format("+{}", count) : std::string();
  };
  return fmt::format("{} {}{}t {}{}r", cudagraph_mode_name(trace.graph.runtime_mode),
                     trace.num_scheduled_tokens, padding(padded_tokens), rows,
                     trace.graph.pads_metadata() ? padding(padded_rows) : "");
}

// Lines of at most `width` characters, broken at `separator`.
std::vector<std::string> wrap(const std::string& cell, std::string_view separator,
                              std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin <= cell.size();) {
    const std::size_t end = std::min(cell.find(separator, begin), cell.size());
    const std::string piece = cell.substr(begin, end - begin);
    if (!line.empty() && line.size() + separator.size() + piece.size() > width) {
      lines.push_back(line);
      line.clear();
    }
    append(line, piece, std::string(separator).c_str());
    begin = end + separator.size();
  }
  lines.push_back(line);
  return lines;
}

}  // namespace

StepRow describe_step(const StepTrace& trace, const Names& names, std::span<const Finding> findings,
                      FreeBlocks free) {
  StepRow row;
  row.step = std::to_string(trace.step);
  row.requests = describe_rows(trace, names);
  row.returned = describe_returned(trace, names);
  if (!row.returned.empty()) row.returned_step = std::to_string(trace.committed_step);
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.num_hit_tokens > 0)
      append(row.hits,
             fmt::format("{} {}", names.request(scheduled.request), scheduled.num_hit_tokens),
             "; ");
  row.blocks = describe_blocks(trace, free);
  describe_launch(row.copies, "pre", trace.pre_copies, names);
  describe_launch(row.copies, "post", trace.post_copies, names);
  row.graph = describe_graph(trace, static_cast<std::int32_t>(trace.rows.size()));
  row.findings = findings.empty() ? "" : std::to_string(findings.size());
  return row;
}

StepRow describe_counts(const StepTrace& trace, const StepCounts& counts, FreeBlocks free) {
  StepRow row;
  row.step = std::to_string(trace.step);
  const auto add = [&row](std::int64_t count, std::string_view what) {
    if (count > 0) append(row.requests, counted(count, what), " | ");
  };
  add(counts.num_reqs, "row");
  if (counts.num_reqs > 0) add(trace.num_scheduled_tokens, "token");
  add(counts.num_prefills, "prefill");
  add(counts.num_draft_tokens, "draft");
  if (counts.num_preempted > 0)
    append(row.requests, fmt::format("{} preempted", counts.num_preempted), " | ");
  describe_commands(row.requests, trace);
  if (counts.num_finished > 0)
    append(row.requests, fmt::format("{} done", counts.num_finished), " | ");
  if (row.requests.empty()) row.requests = "nothing scheduled";
  if (counts.num_hit_tokens > 0) row.hits = std::to_string(counts.num_hit_tokens);
  row.blocks = fmt::format("={}", describe_free(trace, free));
  if (counts.num_state_copies > 0) row.copies = std::to_string(counts.num_state_copies);
  row.graph = describe_graph(trace, counts.num_reqs);
  const std::int32_t num_findings = counts.num_errors + counts.num_warnings;
  if (num_findings > 0) row.findings = std::to_string(num_findings);
  return row;
}

std::string wrap_words(const std::string& text, std::size_t width) {
  std::string wrapped;
  for (const std::string& line : wrap(text, " ", width)) append(wrapped, line, "\n");
  return wrapped;
}

namespace {

constexpr std::array<const char*, 7> kHeadings = {"step",   "requests", "hits",    "blocks",
                                                  "copies", "graph",    "findings"};
using Line = std::array<std::string, 7>;

// The scheduled frame, its later lines indented, then the frame that returns.
std::vector<std::string> request_lines(const StepRow& row) {
  std::vector<std::string> lines = wrap(row.requests, " | ", kMaxRequestColumns);
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i] = "  " + lines[i];
  if (row.returned.empty()) return lines;
  std::string indent = fmt::format("< {}: ", row.returned_step);
  for (const std::string& line :
       wrap(row.returned, " | ", kMaxRequestColumns + 2 - indent.size())) {
    lines.push_back(indent + line);
    indent.assign(indent.size(), ' ');
  }
  return lines;
}

std::vector<Line> lines_of(const StepRow& row) {
  const std::vector<std::string> requests = request_lines(row);
  const std::vector<std::string> copies = wrap(row.copies, "; ", kMaxCopyColumns);
  std::vector<Line> lines = {
      {row.step, requests[0], row.hits, row.blocks, copies[0], row.graph, row.findings}};
  for (std::size_t i = 1; i < std::max(requests.size(), copies.size()); ++i) {
    Line more;
    if (i < requests.size()) more[1] = requests[i];
    if (i < copies.size()) more[4] = copies[i];
    lines.push_back(more);
  }
  return lines;
}

}  // namespace

std::string format_step_table(const std::vector<StepRow>& rows, RecordLevel level) {
  std::vector<Line> lines;
  for (const StepRow& row : rows)
    for (Line& line : lines_of(row)) lines.push_back(std::move(line));
  std::array<std::size_t, 7> width{};
  for (std::size_t c = 0; c < width.size(); ++c) {
    width[c] = std::string_view(kHeadings[c]).size();
    for (const Line& line : lines) width[c] = std::max(width[c], line[c].size());
  }
  std::string text;
  const auto add_line = [&](const auto& cells) {
    std::string line = fmt::format("{:>{}}", cells[0], width[0]);
    for (std::size_t c = 1; c < width.size(); ++c)
      line += fmt::format("  {:<{}}", cells[c], width[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(kHeadings);
  for (const Line& line : lines) add_line(line);
  const bool asynchronous =
      std::ranges::any_of(rows, [](const StepRow& row) { return !row.returned.empty(); });
  if (level == RecordLevel::counts) return text + "\n" + kCountsLegend;
  return text + "\n" + kLegend + (asynchronous ? kAsyncLegend : "");
}

}  // namespace hybridscope
