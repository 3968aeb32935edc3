#include "cli/sessions_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "sessions/job/right_command.h"
#include "sessions/job/session_json.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"
#include "storage/session_query.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

struct QueryOptions {
  std::string file;
  std::string sql;
  std::int64_t limit = 1000;
  std::int64_t max_cell = 1 << 20;
  bool json = false;
};

std::string cell_of(const QueryValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.6g}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* cut = std::get_if<CutText>(&value)) return printable(cut->text) + cut_mark(*cut);
  if (const auto* blob = std::get_if<BlobLength>(&value))
    return fmt::format("({} bytes)", blob->bytes);
  return "NULL";
}

int query(const QueryOptions& options) {
  if (!takes_file_alone("sessions query", options.file)) return kExitUsage;
  const auto file = SessionFile::open(options.file, FileAccess::read);
  if (!file.ok())
    return report_error("sessions query",
                        name_right_command("sessions query", options.file, file.error()));
  std::vector<std::string> columns;
  std::vector<bool> words;  // columns that hold a text
  std::vector<std::vector<std::string>> rows;
  Json objects = Json::array();
  std::int64_t taken = 0;
  bool cut = false;
  std::int64_t num_cut_cells = 0;
  const QueryVisitor visitor{
      .columns = [&](const std::vector<std::string>& names) { columns = names; },
      .row =
          [&](const std::vector<QueryValue>& values) {
            cut = options.limit > 0 && taken == options.limit;
            if (cut) return false;
            ++taken;
            num_cut_cells += std::ranges::count_if(values, [](const QueryValue& value) {
              return std::holds_alternative<CutText>(value);
            });
            if (options.json) {
              Json object = Json::object();
              for (std::size_t i = 0; i < values.size(); ++i)
                object[columns[i]] = query_value_to_json(values[i]);
              objects.push_back(std::move(object));
            } else {
              std::vector<std::string>& cells = rows.emplace_back();
              for (const QueryValue& value : values) cells.push_back(cell_of(value));
              words.resize(values.size());
              for (std::size_t i = 0; i < values.size(); ++i)
                words[i] = words[i] || std::holds_alternative<std::string>(values[i]);
            }
            return true;
          },
      .is_interrupted = was_interrupted,
      .max_text_bytes = options.max_cell};
  ask_for_interrupts();
  const Status done = run_query(file.value(), options.sql, visitor);
  if (!done.ok()) return report_error("sessions query", done.error());
  if (options.json) {
    print_json(objects);
  } else {
    for (std::size_t i = 0; i < columns.size(); ++i)
      columns[i] = (i < words.size() && words[i]  ? "<"
                    : columns[i].starts_with('<') ? " "
                                                  : "") +
                   columns[i];
    TextTable table(columns);
    for (auto& row : rows) table.add(std::move(row));
    fmt::print("{}", table.format());
  }
  if (cut)
    report_message("sessions query",
                   fmt::format("the first {} rows are shown (--limit 0: all)", options.limit));
  if (num_cut_cells > 0)
    report_message(
        "sessions query",
        fmt::format("{} cut to {} bytes (--max-cell 0: whole)",
                    num_cut_cells == 1 ? "1 cell is" : grouped_number(num_cut_cells) + " cells are",
                    grouped_number(options.max_cell)));
  return kExitFine;
}

struct StatsOptions {
  std::string place;
  std::int64_t buckets = 20;
  bool json = false;
};

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_stats(const std::vector<StatsBucket>& buckets) {
  TextTable table({"steps", "reqs", "tokens", "prompt", "hits", "hit", "output", "done", "preempt",
                   "evict", "copies", "MB", "pad", "free", "wait", "found"});
  for (const StatsBucket& b : buckets)
    table.add({b.first_step == b.last_step ? std::to_string(b.first_step)
                                           : fmt::format("{}-{}", b.first_step, b.last_step),
               fmt::format("{:.1f}", static_cast<double>(b.num_request_steps) /
                                         static_cast<double>(b.num_steps)),
               grouped_number(b.num_scheduled_tokens), grouped_number(b.num_prompt_tokens),
               grouped_number(b.num_hit_tokens), percent(b.num_hit_tokens, b.num_prompt_tokens),
               grouped_number(b.num_output_tokens), grouped_number(b.num_finished),
               grouped_number(b.num_preempted), grouped_number(b.num_evicted),
               grouped_number(b.num_state_copies),
               fmt::format("{:.1f}", static_cast<double>(b.state_copy_bytes) / 1e6),
               percent(b.num_padding_tokens, b.num_padding_tokens + b.num_scheduled_tokens),
               grouped_number(b.min_free_blocks), grouped_number(b.max_waiting),
               grouped_number(b.num_errors + b.num_warnings)});
  fmt::print("{}", table.format());
  fmt::print(
      "\nreqs: requests/step.  prompt: tokens of prompts admitted, hits of them from the prefix "
      "cache.\n"
      "done: requests finished.  preempt: preemptions.  evict: blocks that lost their hash.\n"
      "copies: state copies, decisions times mamba groups; MB over all layers.  pad: share of the "
      "tokens\n"
      "that graphs ran.  free: fewest free blocks.  wait: most requests waiting.  found: "
      "findings.\n");
}

Json bucket_to_json(const StatsBucket& b) {
  return {{"first_step", b.first_step},
          {"last_step", b.last_step},
          {"num_steps", b.num_steps},
          {"num_request_steps", b.num_request_steps},
          {"num_scheduled_tokens", b.num_scheduled_tokens},
          {"num_prompt_tokens", b.num_prompt_tokens},
          {"num_hit_tokens", b.num_hit_tokens},
          {"num_output_tokens", b.num_output_tokens},
          {"num_finished", b.num_finished},
          {"num_preempted", b.num_preempted},
          {"num_evicted", b.num_evicted},
          {"num_state_copies", b.num_state_copies},
          {"state_copy_bytes", b.state_copy_bytes},
          {"num_padding_tokens", b.num_padding_tokens},
          {"min_free_blocks", b.min_free_blocks},
          {"max_waiting", b.max_waiting},
          {"num_errors", b.num_errors},
          {"num_warnings", b.num_warnings}};
}

int stats(const StatsOptions& options) {
  const SessionPlace place = parse_session_place(options.place);
  const auto file = SessionFile::open(place.file, FileAccess::read);
  if (!file.ok())
    return report_error("sessions stats",
                        name_right_command("sessions stats", options.place, file.error()));
  const auto info = file.value().find(place.name);
  if (!info.ok()) return report_error("sessions stats", info.error());
  const auto buckets = session_stats(file.value(), info.value().session, options.buckets);
  if (!buckets.ok()) return report_error("sessions stats", buckets.error());
  if (options.json) {
    Json list = Json::array();
    for (const StatsBucket& bucket : buckets.value()) list.push_back(bucket_to_json(bucket));
    print_json(list);
  } else if (buckets.value().empty()) {
    fmt::print("session \"{}\" has no step\n", printable(info.value().header.name));
  } else {
    print_stats(buckets.value());
  }
  return kExitFine;
}

}  // namespace

Subcommand add_sessions_query(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand("query", "run SQL on a session file, read-only");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions query runs.db \"SELECT name, num_steps FROM sessions\"\n"
      "  hybridscope sessions query runs.db \"SELECT * FROM v_copies WHERE step = 12\" --json\n"
      "\n"
      "Tables and views are described in docs/session-format.md, with ten queries to start from.\n"
      "\n"
      "Exit codes: 0 fine, 2 usage, 3 no session file, a query that cannot be run or that would "
      "do\n"
      "more than read, 4 environment (locked).");
  const auto options = std::make_shared<QueryOptions>();
  app.add_option("file", options->file, "session file")->required()->type_name("FILE.db");
  app.add_option("sql", options->sql, "one SELECT statement")->required()->type_name("SQL");
  app.add_option("--limit", options->limit, "most rows shown, 0: all (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, INT64_MAX, "a number from 0 on"));
  app.add_option("--max-cell", options->max_cell,
                 "most bytes of a text that are read, 0: all (default 1048576); a table shows 200 "
                 "characters of it")
      ->type_name("BYTES")
      ->check(CLI::Range(std::int64_t{0}, INT64_MAX, "a number from 0 on"));
  app.add_flag("--json", options->json, "one array of objects");
  return {&app, [=] { return query(*options); }};
}

Subcommand add_sessions_stats(CLI::App& sessions) {
  CLI::App& app = *sessions.add_subcommand(
      "stats", "hit tokens, copies, padding and preemptions over the steps of a session");
  app.footer(
      "Examples:\n"
      "  hybridscope sessions stats runs.db:before\n"
      "  hybridscope sessions stats runs.db:before --buckets 5 --json");
  const auto options = std::make_shared<StatsOptions>();
  app.add_option("session", options->place, "session file and, after a colon, a session's name")
      ->required()
      ->type_name("FILE.db[:NAME]");
  app.add_option("--buckets", options->buckets, "number of rows that sum up the steps (default 20)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100000}, "1 to 100000"));
  app.add_flag("--json", options->json, "one array of objects");
  return {&app, [=] { return stats(*options); }};
}

}  // namespace hybridscope
