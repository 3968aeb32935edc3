#include "cli/conformance_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "core/base/result.h"
#include "sessions/job/right_command.h"
#include "sessions/job/step_files.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"
#include "sessions/text/text_page.h"

namespace hybridscope {

namespace {

constexpr std::size_t kMaxIdsListed = 8;

std::string_view kind_name(const FileReport& file) {
  return file.kind == nullptr ? "unknown" : file.kind->name;
}

// A hint for a file name that matches no kind of vector; empty: the name is fine.
std::string name_hint(const FileReport& file) {
  if (file.fields_of == nullptr || (file.failed.empty() && file.invalid.empty())) return "";
  return fmt::format("{}: its name says {}, but its fields are those of {}", file.path,
                     kind_name(file), file.fields_of->name);
}

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", seconds); }

// A line for each kind of vector that has kernels.
std::string kinds_on_device() {
  std::string lines;
  for (const VectorKind& kind : vector_kinds())
    if (!kind.on_device.empty()) lines += fmt::format("  {:<18}  {}\n", kind.name, kind.on_device);
  return lines;
}

std::string format_table(const ConformanceReport& report) {
  std::vector<TableColumn> columns = {{"file"},         {"kind"},         {"cases", true},
                                      {"passed", true}, {"failed", true}, {"invalid", true}};
  const bool on_device = report.backend != StateBackendKind::cpu;
  if (on_device) columns.push_back({"not run", true});
  if (report.timings) columns.push_back({"seconds", true});
  std::vector<std::vector<std::string>> rows;
  for (const FileReport& file : report.files) {
    if (!report.filter.empty() && file.cases == 0 && file.not_run == 0 && file.invalid.empty())
      continue;
    rows.push_back({std::filesystem::path(file.path).filename().string(),
                    std::string(kind_name(file)), std::to_string(file.cases),
                    std::to_string(file.passed), std::to_string(file.failed.size()),
                    std::to_string(file.invalid.size())});
    if (on_device) rows.back().push_back(std::to_string(file.not_run));
    if (report.timings) rows.back().push_back(seconds_text(file.seconds));
  }
  TextPage page;
  page.table(columns, rows);
  return page.take();
}

// The first difference in full, and the ids of some other cases.
std::string format_failures(const FileReport& file) {
  const FailedCase& first = file.failed.front();
  std::string text =
      fmt::format("\n{}:{}: {} differs at {}\n  expected  {}\n  got       {}\n  asked     {}\n",
                  file.path, first.line, quoted_text(first.id),
                  first.difference.pointer.empty() ? "its whole output" : first.difference.pointer,
                  first.difference.expected, first.difference.got, first.input);
  if (file.failed.size() == 1) return text;
  text += "  also      ";
  const std::size_t listed = std::min(file.failed.size(), kMaxIdsListed + 1);
  for (std::size_t i = 1; i < listed; ++i)
    text += fmt::format("{}{}", i == 1 ? "" : ", ", quoted_text(file.failed[i].id));
  if (file.failed.size() > listed) text += fmt::format(" and {} more", file.failed.size() - listed);
  return text + "\n";
}

nlohmann::ordered_json file_to_json(const FileReport& file, bool timings) {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const FailedCase& failed : file.failed) {
    nlohmann::ordered_json failure = {{"id", failed.id}, {"line", failed.line}};
    if (!failed.input.empty()) {
      failure["pointer"] = failed.difference.pointer;
      failure["expected"] = failed.difference.expected;
      failure["got"] = failed.difference.got;
      failure["asked"] = nlohmann::ordered_json::parse(failed.input);
    }
    failures.push_back(std::move(failure));
  }
  nlohmann::ordered_json errors = nlohmann::ordered_json::array();
  for (const InvalidCase& invalid : file.invalid)
    errors.push_back({{"line", invalid.line}, {"message", invalid.message}});
  nlohmann::ordered_json json = {{"file", file.path},
                                 {"kind", nullptr},
                                 {"cases", file.cases},
                                 {"passed", file.passed},
                                 {"failed", file.failed.size()},
                                 {"invalid", file.invalid.size()},
                                 {"not_run", file.not_run}};
  if (file.kind != nullptr) json["kind"] = file.kind->name;
  if (const std::string hint = name_hint(file); !hint.empty()) json["hint"] = hint;
  if (file.kernel_error) json["device_error"] = file.kernel_error->message;
  if (timings) json["seconds"] = file.seconds;
  json["failures"] = std::move(failures);
  json["errors"] = std::move(errors);
  return json;
}

double total_seconds(const ConformanceReport& report) {
  double sum = 0;
  for (const FileReport& file : report.files) sum += file.seconds;
  return sum;
}

// ": every field is as expected", or why not.
std::string verdict_on_cases(const ConformanceReport& report) {
  const std::int64_t failed = report.cases() - report.passed();
  if (report.device_failed())
    return fmt::format(": {} passed{}, then the device failed", report.passed(),
                       failed > 0 ? fmt::format(", {} differ", failed) : "");
  if (report.invalid() > 0)
    return fmt::format(": {} passed{}; {} invalid", report.passed(),
                       failed > 0 ? fmt::format(", {} differ", failed) : "", report.invalid());
  if (failed > 0) return fmt::format(": {} differ", failed);
  return report.cases() > 0 ? ": every field is as expected" : "";
}

std::string verdict(const ConformanceReport& report) {
  std::string text = report.interrupted ? ": interrupted" : verdict_on_cases(report);
  if (report.not_run() > 0)
    text += fmt::format("; {} not run on {}", report.not_run(), state_backend_name(report.backend));
  return text;
}

constexpr std::size_t kMaxInvalidShown = 10;  // per file

void print_invalid(const FileReport& file) {
  if (const std::string hint = name_hint(file); !hint.empty()) report_message("conformance", hint);
  for (std::size_t i = 0; i < file.invalid.size() && i < kMaxInvalidShown; ++i)
    report_message("conformance", file.invalid[i].message);
  if (file.invalid.size() > kMaxInvalidShown)
    report_message("conformance", fmt::format("{}: {} more lines are not vectors", file.path,
                                              file.invalid.size() - kMaxInvalidShown));
}

// A file of no kind of vector may be for another command.
void name_what_reads(FileReport& file) {
  if (file.kind != nullptr || file.invalid.size() != 1) return;
  std::string& message = file.invalid.front().message;
  message = name_right_command("conformance", file.path, {ErrorKind::corrupt, message}).message;
}

Result<PolicyOverrides> read_policies(const std::vector<std::string>& words) {
  EngineSettings settings;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const Setting* policy = find_setting("policies", word.substr(0, equals));
    if (policy == nullptr || equals == word.size())
      return invalid_input(fmt::format("--policy {}: expected NAME=VALUE of a policy", word));
    if (Status set = set_setting_text(settings, *policy, word.substr(equals + 1)); !set.ok())
      return invalid_input("--policy: " + set.error().message);
  }
  return settings.policies;
}

// Stops when a kernel could not run.
ConformanceReport check_all(const ConformanceCommandOptions& options,
                            const PolicyOverrides& policies, const StateDevice& device,
                            const VectorKernels& kernels) {
  ConformanceReport report{
      .paths = options.paths,
      .filter = options.filter,
      .timings = options.timings,
      .backend = options.state.backend_kind(),
      .device = device.name == nullptr ? "" : device.name(options.state.device.value_or(0)),
      .files = {}};
  Progress progress;
  ask_for_interrupts();
  for (const std::string& path : options.paths) {
    const auto files = vector_files(path);
    if (!files.ok()) {
      FileReport& unreadable = report.files.emplace_back();
      unreadable.path = path;
      unreadable.invalid.push_back({.line = 0, .message = files.error().message});
      print_invalid(unreadable);
      continue;
    }
    for (const std::string& file : files.value()) {
      report.files.push_back(check_vector_file(
          file, {.filter = options.filter,
                 .policies = policies,
                 .kernels = kernels,
                 .progress =
                     [&](std::int64_t cases) {
                       progress.show([&] { return fmt::format("{}: {} cases", file, cases); });
                     },
                 .stop = was_interrupted}));
      progress.clear();
      name_what_reads(report.files.back());
      print_invalid(report.files.back());
      report.interrupted = was_interrupted();
      if (report.interrupted || report.device_failed()) return report;
    }
  }
  return report;
}

int exit_code(const ConformanceReport& report) {
  if (report.interrupted) return kExitInterrupted;
  if (report.device_failed()) return report_error("conformance", *report.files.back().kernel_error);
  if (report.invalid() > 0) return kExitInput;
  if (report.cases() == 0 && report.not_run() > 0)
    return report_usage("conformance",
                        fmt::format("nothing to check on {}: no kernel ran for any of {} cases",
                                    state_backend_name(report.backend), report.not_run()));
  if (report.cases() == 0)
    return report_usage(
        "conformance",
        fmt::format("nothing to check: no case has an id that contains \"{}\"", report.filter));
  return report.passed() == report.cases() ? kExitFine : kExitFindings;
}

}  // namespace

std::int64_t ConformanceReport::sum(std::int64_t (*number)(const FileReport&)) const {
  std::int64_t sum = 0;
  for (const FileReport& file : files) sum += number(file);
  return sum;
}

bool ConformanceReport::device_failed() const {
  return !files.empty() && files.back().kernel_error.has_value();
}

std::string format_conformance(const ConformanceReport& report) {
  std::string text = format_table(report);
  for (const FileReport& file : report.files)
    if (!file.failed.empty()) text += format_failures(file);
  text += fmt::format("\n{} files, {} cases", report.files.size(), report.cases());
  if (report.backend != StateBackendKind::cpu)
    text += fmt::format(" on {} ({})", state_backend_name(report.backend), report.device);
  if (report.timings) text += fmt::format(" in {} s", seconds_text(total_seconds(report)));
  return text + verdict(report) + "\n";
}

nlohmann::ordered_json conformance_to_json(const ConformanceReport& report) {
  nlohmann::ordered_json summary = {
      {"files", report.files.size()}, {"cases", report.cases()},
      {"passed", report.passed()},    {"failed", report.cases() - report.passed()},
      {"invalid", report.invalid()},  {"not_run", report.not_run()}};
  if (report.timings) summary["seconds"] = total_seconds(report);
  if (report.interrupted) summary["interrupted"] = true;
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const FileReport& file : report.files) files.push_back(file_to_json(file, report.timings));
  nlohmann::ordered_json device;
  if (!report.device.empty()) device = report.device;
  return {{"config",
           {{"paths", report.paths},
            {"filter", report.filter},
            {"engine", "reference"},
            {"backend", state_backend_name(report.backend)},
            {"device", device}}},
          {"summary", summary},
          {"files", files}};
}

std::vector<JunitCase> conformance_testcases(const ConformanceReport& report) {
  std::vector<JunitCase> tests;
  for (const FileReport& file : report.files) {
    JunitCase test{.name = file.path, .type = std::string(kind_name(file))};
    if (std::string hint = name_hint(file); !hint.empty()) test.failures.push_back(std::move(hint));
    for (const InvalidCase& invalid : file.invalid) test.failures.push_back(invalid.message);
    for (const FailedCase& failed : file.failed)
      test.failures.push_back(fmt::format(
          "{}:{}: {}{}", file.path, failed.line, quoted_text(failed.id),
          failed.input.empty() ? std::string()
                               : fmt::format(" {}: expected {}, got {}", failed.difference.pointer,
                                             failed.difference.expected, failed.difference.got)));
    if (test.failures.empty() && file.cases == 0 && file.not_run > 0) {
      test.problem = JunitProblem::skipped;
      test.failures.push_back("not run on " + state_backend_name(report.backend));
    }
    if (file.kernel_error) {
      test.problem = JunitProblem::error;
      test.failures.push_back(file.kernel_error->message);
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

void add_conformance_options(CLI::App& command, ConformanceCommandOptions& options) {
  command.footer(
      std::string("Examples:\n") +
      "  hybridscope conformance tests/golden\n"
      "  hybridscope conformance tests/golden/gdn_builder.jsonl.zst --filter gdn_17\n"
      "  hybridscope conformance new_scheduler.jsonl --json --junit report.xml\n"
      "  hybridscope conformance tests/golden --backend cuda\n"
      "\n"
      "A file is recognised by its name (gdn_builder, big_gdn_builder), else by its fields.\n"
      "Files compressed with zstd are unpacked while they are read, whatever their names are;\n"
      "in a folder every *.jsonl and *.jsonl.zst is checked, even both x.jsonl and x.jsonl.zst.\n"
      "The text shows the first failure of each file in full, --json and --junit the first 20.\n"
      "Exit codes: 0 every field is as expected, 1 some case differs, 2 usage or no case "
      "selected,\n"
      "3 a file or line that is not a vector or a folder without any (the rest is still checked),\n"
      "4 environment, such as no usable GPU.\n"
      "\n"
      "--backend cuda checks on a GPU what kernels compute there:\n" +
      kinds_on_device() +
      "Other vectors, and cases that launch nothing, are counted as not run, never as passed.");
  command.add_option("files", options.paths, "vector files, or folders of *.jsonl and *.jsonl.zst")
      ->required()
      ->type_name("FILE|DIR");
  command.add_option("--filter", options.filter, "only cases whose id contains this")
      ->type_name("ID");
  command
      .add_option("--policy", options.policies,
                  "a policy of another value than the release's, for vectors of releases; may be "
                  "repeated")
      ->type_name("NAME=VALUE");
  add_backend_options(
      command, options.state,
      "where kernels run: cpu (default) or cuda, which leaves out what has no kernel");
  command.add_flag("--json", options.json, "one object {config, summary, files}");
  command.add_option("--junit", options.junit, "write a JUnit report, one testcase per file")
      ->type_name("FILE|-");
  command.add_flag_callback(
      "--no-timings", [&options] { options.timings = false; },
      "leave out times, so that two runs compare equal");
}

int conformance_command(const ConformanceCommandOptions& options, const Backends& backends) {
  const OutputTarget junit{"--junit", options.junit};
  CommandFiles files{.inputs = {}, .outputs = {document("--json", options.json), junit}};
  for (const std::string& path : options.paths)
    files.inputs.push_back({.what = "of the vectors", .path = path, .of_folder = ".jsonl"});
  if (const Status apart = check_files(files); !apart.ok())
    return report_usage("conformance", apart.error().message);
  const bool on_cuda = options.state.backend_kind() == StateBackendKind::cuda;
  if (options.state.device && !on_cuda)
    return report_usage("conformance", "--device is for --backend cuda");
  const StateDevice& device = on_cuda ? backends.cuda : backends.cpu;
  HS_EXPECT(device.vector_kernels != nullptr);
  const auto kernels = device.vector_kernels(options.state.device.value_or(0));
  if (!kernels.ok()) return report_error("conformance", kernels.error());
  const auto policies = read_policies(options.policies);
  if (!policies.ok()) return report_usage("conformance", policies.error().message);
  const ConformanceReport report = check_all(options, policies.value(), device, kernels.value());
  if (options.json)
    print_json(conformance_to_json(report));
  else
    fmt::print(text_stream({junit}), "{}", format_conformance(report));
  const int code = exit_code(report);
  if (options.junit.empty()) return code;
  const Status written =
      write_junit_file(options.junit, "conformance", conformance_testcases(report));
  if (written.ok()) return code;
  report_message("conformance", written.error().message);
  return kExitEnvironment;
}

}  // namespace hybridscope
