#include "cli/matrix_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/matrix_report.h"
#include "cli/matrix_scenarios.h"
#include "cli/progress.h"
#include "cli/report_error.h"
#include "cli/settings_options.h"
#include "cli/shard.h"
#include "cli/shown_text.h"
#include "cli/version.h"
#include "sessions/finding_list.h"
#include "sessions/json_reader.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/matrix/matrix_html.h"
#include "sessions/matrix/run_matrix.h"
#include "sessions/object_reader.h"
#include "sessions/output_file.h"
#include "sessions/settings_table.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

struct MatrixCommandOptions {
  std::string engine;                 // empty: to be asked for
  std::vector<std::string> policies;  // "name=value"
  std::vector<std::string> only;      // "axis=value,value"
  std::int64_t scenarios = CellRunOptions{}.num_scenarios;
  std::uint64_t seed = 1;
  std::int32_t jobs = 0;  // 0: one a core
  std::string shard;
  std::string folder;  // empty: from the engine
  std::vector<std::string> merge;
  std::string html;
  std::string scenario_folder;  // not empty: the scenarios are written there, and not run
  bool labels_only = false;
  bool no_shrink = false;
  bool json = false;
  bool list = false;
  bool quiet = false;
};

// What the options ask for.
struct MatrixJob {
  MatrixHeader header;
  MatrixOptions options;
  std::string folder;
};

// Why a text is no number from 0 to 2^63 - 1; empty: it is one.
std::string whole_number_fault(const std::string& text) {
  std::int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) return {};
  return fmt::format("expected an integer from 0 to {}, found {}",
                     std::numeric_limits<std::int64_t>::max(), quoted_text(text));
}

int usage(const std::string& message) {
  fmt::print(stderr, "hybridscope matrix: {}\n", one_line(message, 4000));
  return kExitUsage;
}

// Error: no such policy or value, with the nearest.
Result<PolicyOverrides> read_policies(const std::vector<std::string>& texts) {
  EngineSettings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const Setting* setting = find_setting("policies", name);
    if (setting == nullptr) {
      std::vector<std::string_view> known;
      for (const Setting& row : settings_table())
        if (row.section == "policies") known.push_back(row.name);
      return invalid_input(fmt::format("no policy is called {}{} (docs/differences.md lists them)",
                                       quoted_text(name), nearest_key_hint(name, known)));
    }
    if (equals == std::string::npos)
      return invalid_input(fmt::format("{} has no value (expected NAME=VALUE)", quoted_text(text)));
    if (Status set = set_setting_text(settings, *setting, text.substr(equals + 1)); !set.ok())
      return set.error();
  }
  return settings.policies;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  return text;
}

// Of a text that CellFilter::text() gave.
Result<CellFilter> read_filter(const std::vector<std::string>& only) {
  CellFilter filter;
  for (const std::string& text : only)
    if (Status added = filter.add(text); !added.ok()) return added.error();
  return filter;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The cells that a matrix with this header has.
Result<std::vector<MatrixCell>> cells_of(const MatrixHeader& header) {
  const auto filter = read_filter(words_of(header.filter));
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(header.shard);
  if (!shard.ok()) return shard.error();
  std::vector<MatrixCell> cells;
  for (const MatrixCell& cell : all_cells())
    if (filter.value().takes(cell) &&
        shard_of(cell_name(cell), shard.value().count) == shard.value().index)
      cells.push_back(cell);
  return cells;
}

// "matrix-safe", "matrix-vllm@2026-06-29-2of7".
std::string default_folder(const MatrixHeader& header, const Shard& shard) {
  std::string folder = fmt::format("matrix-{}", header.engine);
  if (shard.count > 1) folder += fmt::format("-{}of{}", shard.index, shard.count);
  return folder;
}

std::int32_t num_jobs(const MatrixCommandOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

Result<MatrixJob> make_job(const MatrixCommandOptions& options, const Backends& backends) {
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return policies.error();
  const auto filter = read_filter(options.only);
  if (!filter.ok()) return filter.error();
  const auto shard = parse_shard(options.shard.empty() ? "1/1" : options.shard);
  if (!shard.ok()) return shard.error();
  MatrixJob job;
  job.header = {.engine = options.engine,
                .policies = joined(options.policies),
                .seed = options.seed,
                .scenarios_per_cell = options.scenarios,
                .in_bytes = !options.labels_only,
                .filter = filter.value().text(),
                .program = std::string("hybridscope ") + kVersion,
                .shard = shard_text(shard.value())};
  auto cells = cells_of(job.header);
  if (!cells.ok()) return cells.error();
  job.options.cells = std::move(cells).value();
  if (std::ranges::none_of(job.options.cells, is_run))
    return invalid_input(
        fmt::format("nothing to run: of {} selected, each is refused or the same "
                    "as another (docs/matrix.md, --list)",
                    counted(std::ssize(job.options.cells), "cell")));
  job.options.num_threads = num_jobs(options);
  job.options.shrink = !options.no_shrink;
  CellRunOptions& run = job.options.run;
  run.profile = *parse_engine_profile(options.engine);
  run.policies = policies.value();
  run.seed = options.seed;
  run.num_scenarios = options.scenarios;
  run.go_on = [] { return !was_interrupted(); };
  if (!options.labels_only)
    run.make_backend = [make = backends.cpu.make](StateMemory memory) {
      return make({.memory = std::move(memory), .largest_step = {}, .device = 0});
    };
  job.folder = options.folder.empty() ? default_folder(job.header, shard.value()) : options.folder;
  return job;
}

std::string progress_text(const MatrixProgress& at) {
  if (at.shrinking) return fmt::format("making faults small: {} of {}", at.done, at.all);
  return fmt::format("{} of {} cells, {} scenarios, {} with findings", grouped_number(at.done),
                     grouped_number(at.all), grouped_number(at.num_scenarios),
                     counted(at.num_with_findings, "cell"));
}

// Of "id" or "id+id": what the first of them is called.
std::string title_of(const std::string& bugs) {
  const auto bug = shipped_bug(bugs.substr(0, bugs.find('+')));
  if (!bug.ok() || bugs.find('+') != std::string::npos) return {};
  return bug.value().title;
}

// The folder as a page can link to it.
std::string folder_from(const std::string& page, const std::string& folder) {
  std::error_code code;
  const auto place = std::filesystem::absolute(page, code).parent_path();
  const std::string way = std::filesystem::relative(folder, place, code).string();
  return way == "." ? "" : way;
}

int report(const MatrixCommandOptions& options, const MatrixContents& contents,
           const std::string& folder, bool interrupted) {
  const auto cells = cells_of(contents.header);
  if (!cells.ok()) return report_error("matrix", cells.error());
  const MatrixSummary summary = summarize_matrix(contents, cells.value());
  if (!options.html.empty()) {
    const std::string html =
        matrix_as_html(contents, cells.value(),
                       {.title_of = title_of, .folder = folder_from(options.html, folder)});
    if (Status written = write_output_file(options.html, html); !written.ok())
      return report_error("matrix", written.error());
  }
  if (options.json)
    fmt::print("{}\n", matrix_to_json(contents, summary, cells.value())
                           .dump(2, ' ', false, Json::error_handler_t::replace));
  else if (!options.quiet)
    fmt::print("{}", format_matrix(contents, summary, folder));
  if (interrupted) return kExitInterrupted;
  return summary.all_safe() ? kExitFine : kExitFindings;
}

int run(const MatrixCommandOptions& options, const Backends& backends) {
  auto job = make_job(options, backends);
  if (!job.ok()) return usage(job.error().message);
  auto file = MatrixFile::open(job.value().folder, job.value().header);
  if (!file.ok()) return report_error("matrix", file.error());
  ask_for_interrupts();
  Progress progress(options.quiet);
  job.value().options.progress = [&](const MatrixProgress& at) {
    progress.show([&] { return progress_text(at); });
  };
  const auto finished = run_matrix(job.value().options, file.value());
  progress.clear();
  if (!finished.ok()) return report_error("matrix", finished.error());
  return report(options, file.value().contents(), job.value().folder, !finished.value());
}

int write_scenarios(const MatrixCommandOptions& options, const Backends& backends) {
  const auto job = make_job(options, backends);
  if (!job.ok()) return usage(job.error().message);
  ask_for_interrupts();
  const auto count = write_matrix_scenarios(job.value().options, options.scenario_folder);
  if (!count.ok()) return report_error("matrix", count.error());
  if (!options.quiet)
    fmt::print("{} in {}\n", counted(count.value(), "scenario"), one_line(options.scenario_folder));
  return was_interrupted() ? kExitInterrupted : kExitFine;
}

// The scenarios of the faults come along. Error: one cannot be read or written.
Status copy_faults(const std::vector<MatrixSource>& sources, const MatrixContents& merged,
                   MatrixFile& file) {
  for (const auto& [key, fault] : merged.faults) {
    const auto source =
        std::ranges::find_if(sources, [&, &key = key, &fault = fault](const MatrixSource& one) {
          const auto found = one.contents.faults.find(key);
          return found != one.contents.faults.end() && found->second == fault;
        });
    const std::string path = (std::filesystem::path(source->folder) / fault.file).string();
    const auto scenario = read_text_file(path);
    if (!scenario.ok()) return scenario.error();
    if (Status added = file.add(fault, scenario.value()); !added.ok()) return added;
  }
  return Ok{};
}

Result<MatrixFile> write_merged(const std::vector<MatrixSource>& sources,
                                const MatrixContents& merged, const std::string& folder) {
  auto file = MatrixFile::open(folder, merged.header);
  if (!file.ok()) return file;
  if (!file.value().contents().cells.empty())
    return invalid_input(fmt::format("{} has results already (give another --out)", folder));
  for (const auto& [name, cell] : merged.cells)
    if (Status added = file.value().add(cell); !added.ok()) return added.error();
  if (Status copied = copy_faults(sources, merged, file.value()); !copied.ok())
    return copied.error();
  return file;
}

int merge(const MatrixCommandOptions& options) {
  std::vector<MatrixSource> sources;
  for (const std::string& folder : options.merge) {
    auto contents = read_matrix(folder);
    if (!contents.ok()) return report_error("matrix", contents.error());
    sources.push_back({folder, std::move(contents).value()});
  }
  const auto merged = merge_matrices(sources);
  if (!merged.ok()) return report_error("matrix", merged.error());
  if (options.folder.empty()) return report(options, merged.value(), options.merge.front(), false);
  const auto file = write_merged(sources, merged.value(), options.folder);
  if (!file.ok()) return report_error("matrix", file.error());
  return report(options, file.value().contents(), options.folder, false);
}

int matrix_command(const MatrixCommandOptions& options, const Backends& backends) {
  if (options.list) {
    fmt::print("{}", format_matrix_axes());
    return kExitFine;
  }
  if (!options.merge.empty()) return merge(options);
  if (options.engine.empty())
    return usage(
        fmt::format("which engine? give --engine {} (hybridscope bugs list --engine "
                    "PROFILE tells what is in one)",
                    kEngineProfileNames));
  if (!options.scenario_folder.empty()) return write_scenarios(options, backends);
  return run(options, backends);
}

}  // namespace

std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends) {
  const auto options = std::make_shared<MatrixCommandOptions>();
  matrix.footer(
      "Examples:\n"
      "  hybridscope matrix --engine safe\n"
      "  hybridscope matrix --engine vllm@2026-06-29 --html matrix.html\n"
      "  hybridscope matrix --engine vllm@2026-06-29 --only mode=align --only speculation=mtp2\n"
      "  hybridscope matrix --engine safe --policy no_draft_step=column_zero --scenarios 20\n"
      "  hybridscope matrix --engine pages --shard 2/7 --out shard2\n"
      "  hybridscope matrix --merge shard1 shard2 --out all --json\n"
      "  hybridscope matrix --engine pages --only mode=all --scenarios 1 --write-scenarios DIR\n"
      "\n"
      "Ctrl-C ends it; the same command goes on where it was. How cells are made: docs/matrix.md.\n"
      "Exit codes: 0 every cell is safe, 1 findings, untested cells or cells that were not run,\n"
      "2 usage, 3 unreadable or invalid input, 4 environment, 5 a bug of hybridscope,\n"
      "130 interrupted.");
  matrix
      .add_option("--engine", options->engine,
                  fmt::format("the engine that is asked about: {}", kEngineProfileNames))
      ->check(is_engine_profile())
      ->type_name("PROFILE");
  matrix
      .add_option("--policy", options->policies, "one policy against the profile; may be repeated")
      ->type_name("NAME=VALUE");
  matrix
      .add_option("--only", options->only,
                  "cells with these values of an axis; may be repeated (--list has the axes)")
      ->type_name("AXIS=VALUE,...");
  matrix.add_option("--scenarios", options->scenarios, "random scenarios a cell")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str()
      ->type_name("N");
  matrix.add_option("--seed", options->seed, "of the scenarios")
      ->check(CLI::Validator(whole_number_fault, ""))
      ->capture_default_str()
      ->type_name("N");
  matrix.add_option("-j,--jobs", options->jobs, "cells at once (default: one a core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  matrix
      .add_option("-o,--out", options->folder,
                  "folder of the results (default: matrix-PROFILE here)")
      ->type_name("DIR");
  matrix.add_option("--shard", options->shard, "the cells of one of N parts, by their names")
      ->type_name("I/N");
  matrix
      .add_option("--merge", options->merge,
                  "run nothing: results of these folders as one, written where --out says")
      ->type_name("DIR...")
      ->excludes("--engine")
      ->excludes("--shard");
  matrix
      .add_option("--write-scenarios", options->scenario_folder,
                  "run nothing: the scenarios of the cells as files DIR/CELL-INDEX.json")
      ->type_name("DIR")
      ->excludes("--merge");
  matrix.add_option("--html", options->html, "the matrix as one page")->type_name("FILE");
  matrix.add_flag("--labels-only", options->labels_only,
                  "no scenario keeps state in bytes as well");
  matrix.add_flag("--no-shrink", options->no_shrink, "do not make small scenarios of the faults");
  matrix.add_flag("--json", options->json,
                  "one object {cells, axes, faults, events, results, ...}");
  matrix.add_flag("--list", options->list, "axes, events and what is not modelled; run nothing");
  matrix.add_flag("-q,--quiet", options->quiet, "say nothing but errors");
  return [options, &backends] { return matrix_command(*options, backends); };
}

}  // namespace hybridscope
