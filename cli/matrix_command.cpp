#include "cli/matrix_command.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/job/matrix_job.h"
#include "sessions/job/run_options.h"
#include "sessions/job/step_files.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/matrix/run_matrix.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

struct MatrixCommandOptions : MatrixJobOptions {
  std::vector<std::string> merge;
  std::string html;
  std::string scenario_folder;  // not empty: the scenarios are written there, and not run
  bool json = false;
  bool list = false;
  bool quiet = false;
};

struct MergedMatrix {
  MatrixContents contents;
  std::string folder;        // of its faults' files; empty: each fault has its own
  bool interrupted = false;  // not all of its faults are shrunk yet
};

Result<MergedMatrix> write_merged(const MatrixCommandOptions& options, const MatrixContents& merged,
                                  const std::function<void(const MatrixProgress&)>& progress) {
  MatrixOptions shrink;
  if (!options.no_shrink) {
    auto made = shrink_options_of(merged.header, options);
    if (!made.ok()) return made.error();
    shrink = std::move(made).value();
    shrink.progress = progress;
  }
  auto file = MatrixFile::open(options.folder, merged.header);
  if (!file.ok()) return file.error();
  if (Status added = file.value().add_cells(merged); !added.ok()) return added.error();
  bool finished = true;
  if (!options.no_shrink) {
    const auto shrunk = shrink_faults(shrink, file.value());
    if (!shrunk.ok()) return shrunk.error();
    finished = shrunk.value();
  }
  return MergedMatrix{
      .contents = file.value().contents(), .folder = options.folder, .interrupted = !finished};
}

// The results of the folders of `options.merge` as one. With `options.folder` they are written
// there, and their faults made small as one run of all cells makes them; what an interrupted merge
// had written is continued. Errors: those of read_matrix, merge_matrices, shrink_options_of and
// MatrixFile; invalid_input when the folder has faults of other cells.
Result<MergedMatrix> merge_folders(const MatrixCommandOptions& options,
                                   const std::function<void(const MatrixProgress&)>& progress) {
  std::vector<MatrixSource> sources;
  for (const std::string& folder : options.merge) {
    auto contents = read_matrix(folder);
    if (!contents.ok()) return contents.error();
    sources.push_back({folder, std::move(contents).value()});
  }
  auto merged = merge_matrices(sources);
  if (!merged.ok()) return merged.error();
  if (options.folder.empty())
    return MergedMatrix{.contents = std::move(merged).value(), .folder = ""};
  return write_merged(options, merged.value(), progress);
}

// Why a text is not a number from 0 to 2^63 - 1; empty: it is one.
std::string whole_number_fault(const std::string& text) {
  std::int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end && number >= 0) return {};
  return fmt::format("expected an integer from 0 to {}, found {}",
                     std::numeric_limits<std::int64_t>::max(), quoted_text(text));
}

CLI::Validator is_path() {
  return {[](const std::string& text) -> std::string {
            return text.empty() ? "expected a path, found \"\"" : "";
          },
          ""};
}

std::string progress_text(const MatrixProgress& at) {
  if (at.shrinking) return fmt::format("making faults small: {} of {}", at.done, at.all);
  return fmt::format("{} of {} cells, {} scenarios, {} with findings", grouped_number(at.done),
                     grouped_number(at.all), grouped_number(at.num_scenarios),
                     counted(at.num_with_findings, "cell"));
}

// The title of the first bug of "id" or "id+id".
std::string title_of(const std::string& bugs) {
  const auto bug = shipped_bug(bugs.substr(0, bugs.find('+')));
  if (!bug.ok() || bugs.find('+') != std::string::npos) return {};
  return bug.value().title;
}

// An option that runs no cell, and the options that it excludes.
struct OptionUse {
  std::string option;
  std::vector<std::string> without;
};
const OptionUse kUses[] = {
    {"--merge",
     {"--engine", "--policy", "--only", "--scenarios", "--seed", "--shard", "--labels-only",
      "--write-scenarios", "--list"}},
    {"--write-scenarios",
     {"--out", "--html", "--json", "--labels-only", "--no-shrink", "--jobs", "--list"}},
    {"--list",
     {"--engine", "--policy", "--only", "--scenarios", "--seed", "--jobs", "--out", "--shard",
      "--html", "--labels-only", "--no-shrink"}}};

// The first excluded option that was given; empty: none. Not left to CLI11, whose help would list
// each exclusion.
std::string meaningless_option(const CLI::App& matrix) {
  for (const auto& [option, without] : kUses)
    for (const std::string& other : without)
      if (matrix.count(option) > 0 && matrix.count(other) > 0)
        return fmt::format("{} does not go with {}", other, option);
  return {};
}

// A matrix to be reported, and where the scenarios of its faults lie.
struct MatrixStory {
  const MatrixContents& contents;
  std::string folder;
  std::string_view to_go_on = "run the same command again to resume";
  bool interrupted = false;
};

// The path of a fault's file relative to the page.
std::string path_from(const std::string& page, const std::string& folder, const std::string& file) {
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  std::error_code code;
  const auto place = std::filesystem::absolute(page == "-" ? "." : page, code).parent_path();
  const std::string way = std::filesystem::relative(path, place, code).string();
  return code || way.empty() ? path.string() : way;
}

Status write_page(const MatrixCommandOptions& options, const MatrixStory& story,
                  const std::vector<MatrixCell>& cells, OutputFile& page) {
  const auto path_of = [&](const std::string& file) {
    return path_from(options.html, story.folder, file);
  };
  const std::string html =
      matrix_as_html(story.contents, cells, {.title_of = title_of, .path_of = path_of});
  if (Status written = page.write(html); !written.ok()) return written;
  return page.finish();
}

int report(const MatrixCommandOptions& options, const MatrixStory& story,
           std::optional<OutputFile>& page) {
  const auto cells = cells_of(story.contents.header);
  if (!cells.ok()) return report_error("matrix", cells.error());
  const MatrixSummary summary = summarize_matrix(story.contents, cells.value());
  if (page)
    if (Status written = write_page(options, story, cells.value(), *page); !written.ok())
      return report_error("matrix", written.error());
  if (options.json)
    print_json(matrix_to_json(story.contents, summary, cells.value()));
  else if (!options.quiet)
    fmt::print(text_stream({{"--html", options.html}}), "{}",
               format_matrix(story.contents, summary, story.folder, story.to_go_on));
  if (story.interrupted) return kExitInterrupted;
  return summary.all_safe() ? kExitFine : kExitFindings;
}

// Cells that the folder had before this run, so that nobody takes them for new results.
struct EarlierCells {
  std::size_t count = 0;
  std::string written;  // when the last was: "2026-11-25 04:12 UTC"
};

// When the matrix of this folder was last written, "" if there is none.
std::string last_written(const std::string& folder) {
  struct stat file {};
  const std::string path = matrix_file(folder);
  if (::stat(path.c_str(), &file) != 0) return {};
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(file.st_mtime));
}

void tell_earlier(const EarlierCells& earlier, const MatrixFile& file) {
  if (earlier.count == 0) return;
  const std::size_t now = file.contents().cells.size();
  fmt::print(stderr, "{}: {} of {} were there already, the last written {}{}\n",
             one_line(file.folder()), grouped_number(static_cast<std::int64_t>(earlier.count)),
             counted(static_cast<std::int64_t>(now), "cell"), earlier.written,
             earlier.count == now ? "; nothing was run" : "");
}

// `folder`: of the results; empty: they are kept in none.
Status check_matrix_files(const MatrixCommandOptions& options, const std::string& folder) {
  namespace fs = std::filesystem;
  CommandFiles files{.inputs = {},
                     .outputs = {document("--json", options.json), {"--html", options.html}}};
  const auto add_faults = [&files](const std::string& of) {
    files.inputs.push_back({"a scenario of a fault", (fs::path(of) / "faults").string()});
  };
  if (!folder.empty()) {
    files.outputs.push_back({"--out", matrix_file(folder), FileUse::results});
    add_faults(folder);
  }
  for (const std::string& merged : options.merge) {
    files.inputs.push_back({"a matrix to merge", matrix_file(merged), FileUse::results});
    add_faults(merged);
  }
  return check_files(files);
}

int run(const MatrixCommandOptions& options, const Backends& backends) {
  auto job = make_matrix_job(options, backends);
  if (!job.ok()) return report_usage("matrix", job.error().message);
  if (const Status apart = check_matrix_files(options, job.value().folder); !apart.ok())
    return report_usage("matrix", apart.error().message);
  EarlierCells earlier{.written = last_written(job.value().folder)};
  auto file = MatrixFile::open(job.value().folder, job.value().header);
  if (!file.ok()) return report_error("matrix", file.error());
  earlier.count = file.value().contents().cells.size();
  auto page = open_output(options.html);
  if (!page.ok()) return report_error("matrix", page.error());
  ask_for_interrupts();
  Progress progress(options.quiet);
  job.value().options.progress = [&](const MatrixProgress& at) {
    progress.show([&] { return progress_text(at); });
  };
  const auto finished = run_matrix(job.value().options, file.value());
  progress.clear();
  if (!finished.ok()) return report_error("matrix", finished.error());
  if (!options.quiet) tell_earlier(earlier, file.value());
  return report(options,
                {.contents = file.value().contents(),
                 .folder = job.value().folder,
                 .interrupted = !finished.value()},
                page.value());
}

int merge(const MatrixCommandOptions& options) {
  if (const Status apart = check_matrix_files(options, options.folder); !apart.ok())
    return report_usage("matrix", apart.error().message);
  ask_for_interrupts();
  Progress progress(options.quiet);
  const auto merged = merge_folders(
      options, [&](const MatrixProgress& at) { progress.show([&] { return progress_text(at); }); });
  progress.clear();
  if (!merged.ok()) return report_error("matrix", merged.error());
  auto page = open_output(options.html);  // may be in the folder just made
  if (!page.ok()) return report_error("matrix", page.error());
  return report(options,
                {.contents = merged.value().contents,
                 .folder = merged.value().folder,
                 .to_go_on = "they are in none of these folders",
                 .interrupted = merged.value().interrupted},
                page.value());
}

int write_scenarios(const MatrixCommandOptions& options, const Backends& backends) {
  const auto job = make_matrix_job(options, backends);
  if (!job.ok()) return report_usage("matrix", job.error().message);
  ask_for_interrupts();
  const auto count = write_matrix_scenarios(job.value().options, options.scenario_folder);
  if (!count.ok()) return report_error("matrix", count.error());
  if (!options.quiet)
    fmt::print("{} in {}\n", counted(count.value(), "scenario"), one_line(options.scenario_folder));
  return was_interrupted() ? kExitInterrupted : kExitFine;
}

int list(const MatrixCommandOptions& options) {
  if (options.json)
    print_json(matrix_axes_to_json());
  else
    fmt::print("{}", format_matrix_axes());
  return kExitFine;
}

int matrix_command(const MatrixCommandOptions& options, const Backends& backends) {
  if (options.list) return list(options);
  if (!options.merge.empty()) return merge(options);
  if (options.engine.empty())
    return report_usage(
        "matrix", fmt::format("which engine? give --engine {} (hybridscope bugs list --engine "
                              "PROFILE lists what is in one)",
                              engine_profile_names()));
  if (!options.scenario_folder.empty()) return write_scenarios(options, backends);
  return run(options, backends);
}

}  // namespace

std::function<int()> add_matrix_command(CLI::App& matrix, const Backends& backends) {
  const auto options = std::make_shared<MatrixCommandOptions>();
  options->go_on = [] { return !was_interrupted(); };
  matrix.footer(
      "Examples:\n"
      "  hybridscope matrix --engine safe\n"
      "  hybridscope matrix --engine vllm@2026-06-29 --html matrix.html\n"
      "  hybridscope matrix --engine vllm@2026-06-29 --only mode=align --only speculation=mtp2\n"
      "  hybridscope matrix --engine safe --policy no_draft_step=column_zero --scenarios 20\n"
      "  hybridscope matrix --engine reference --shard 2/7 --out shard2\n"
      "  hybridscope matrix --merge shard1 shard2 --out all --json\n"
      "  hybridscope matrix --engine reference --only mode=all --scenarios 1 --write-scenarios "
      "DIR\n"
      "\n"
      "Ctrl-C stops it; the same command resumes it. How cells are made: docs/ci.md.\n"
      "Exit codes: 0 every cell is safe, 1 findings, untested cells or cells that were not run,\n"
      "2 usage, 3 unreadable or invalid input, 4 environment.");
  matrix
      .add_option("--engine", options->engine,
                  fmt::format("the engine in question: {}", engine_profile_names()))
      ->transform(is_engine_profile())
      ->type_name("PROFILE");
  matrix
      .add_option("--policy", options->policies,
                  "override one policy of the profile; may be repeated")
      ->type_name("NAME=VALUE");
  matrix
      .add_option("--only", options->only,
                  "cells with these values of an axis; may be repeated (--list has the axes)")
      ->type_name("AXIS=VALUE,...");
  matrix.add_option("--scenarios", options->scenarios, "random scenarios per cell")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}, "1 to 1000000000"))
      ->capture_default_str()
      ->type_name("N");
  matrix.add_option("--seed", options->seed, "of the scenarios")
      ->check(CLI::Validator(whole_number_fault, ""))
      ->capture_default_str()
      ->type_name("N");
  matrix.add_option("-j,--jobs", options->jobs, "cells in parallel (default: one per core)")
      ->check(CLI::Range(1, 1024, "1 to 1024"))
      ->type_name("N");
  matrix
      .add_option("-o,--out", options->folder,
                  "folder of the results (default: matrix-PROFILE here)")
      ->check(is_path())
      ->type_name("DIR");
  matrix.add_option("--shard", options->shard, "the cells of one of N parts, by their names")
      ->type_name("I/N");
  matrix.add_option("--html", options->html, "the matrix as one page, - for standard output")
      ->check(is_path())
      ->type_name("FILE|-");
  matrix.add_flag("--labels-only", options->labels_only, "keep no state in bytes");
  matrix.add_flag("--no-shrink", options->no_shrink,
                  "do not shrink the scenarios that show faults");
  matrix.add_flag("--json", options->json,
                  "one object {cells, axes, faults, events, results, ...}");
  matrix
      .add_option("--merge", options->merge,
                  "run no cell: merge the results of these folders into --out")
      ->check(is_path())
      ->type_name("DIR");
  matrix
      .add_option("--write-scenarios", options->scenario_folder,
                  "run nothing: write the scenarios of the cells as files DIR/CELL-INDEX.json")
      ->check(is_path())
      ->type_name("DIR");
  matrix.add_flag("--list", options->list, "axes, events and what is not modelled; run nothing");
  matrix.add_flag("-q,--quiet", options->quiet, "print nothing but errors");
  return [options, &matrix, &backends] {
    if (const std::string fault = meaningless_option(matrix); !fault.empty())
      return report_usage("matrix", fault);
    return matrix_command(*options, backends);
  };
}

}  // namespace hybridscope
