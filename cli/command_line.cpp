#include "cli/command_line.h"
#include "cli/report_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/bugs_list.h"
#include "cli/conformance_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/exit_codes.h"
#include "cli/explain_cache_command.h"
#include "cli/export_command.h"
#include "cli/gui_command.h"
#include "cli/judge_command.h"
#include "cli/lessons_command.h"
#include "cli/matrix_command.h"
#include "cli/model_command.h"
#include "cli/run_command.h"
#include "cli/safe_streams.h"
#include "cli/sessions_command.h"
#include "cli/shrink_command.h"
#include "cli/version.h"
#include "core/base/check.h"

namespace hybridscope {
namespace {

bool has_subcommand(CLI::App& app, const std::string& name) {
  return std::ranges::any_of(app.get_subcommands([](const CLI::App*) { return true; }),
                             [&](const CLI::App* one) { return one->check_name(name); });
}

// CLI11 shows the value of a negative flag: "--no-x{false}".
class HelpFormatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    constexpr std::string_view kValue = "{false}";
    for (auto at = name.find(kValue); at != std::string::npos; at = name.find(kValue))
      name.erase(at, kValue.size());
    return name;
  }
};

int no_such_subcommand(CLI::App& command, const char* name) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(subcommand->get_name());
  return report_usage(command.get_name(),
                      fmt::format("there is no command \"{}\" ({})", name, fmt::join(names, ", ")));
}

int parse_and_run(int argc, char** argv, const Backends& backends) {
  CLI::App app(
      "Step through the state caching of hybrid language models and check what every block holds.",
      "hybridscope");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("hybridscope ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  hybridscope run scenarios/align_boundary_by_accepted_drafts.json\n"
      "  hybridscope run scenarios/align_boundary_by_accepted_drafts.json --explain 2\n"
      "  hybridscope judge trace.jsonl\n"
      "  hybridscope diff runs.db:before runs.db:after\n"
      "  hybridscope explain-cache scenarios/shared_prefix_align.json\n"
      "  hybridscope lessons run align_boundary\n"
      "  hybridscope bugs run 48 --explain\n"
      "  hybridscope matrix --engine vllm@2026-06-29\n"
      "  hybridscope shrink big.json --engine reference\n"
      "  hybridscope model qwen3-next-80b-a3b\n"
      "  hybridscope conformance tests/golden\n"
      "  hybridscope gui scenarios/align_boundary_by_accepted_drafts.json");

  RunOptions run;
  CLI::App& run_app = *app.add_subcommand("run", "step a scenario or traffic and check every step");
  add_run_options(run_app, run);
  JudgeOptions judge;
  CLI::App& judge_app =
      *app.add_subcommand("judge", "execute and check the decisions of another engine");
  add_judge_options(judge_app, judge);
  CLI::App& sessions_app =
      *app.add_subcommand("sessions", "recorded sessions: list, show, query, rerun, fork, export");
  const std::function<int()> sessions_command = add_sessions_command(sessions_app);
  DiffOptions diff;
  CLI::App& diff_app =
      *app.add_subcommand("diff", "compare two sessions: first divergence, then all differences");
  add_diff_options(diff_app, diff);
  ExplainCacheOptions explain_cache;
  CLI::App& explain_cache_app =
      *app.add_subcommand("explain-cache", "why each request hit as many tokens as it did");
  add_explain_cache_options(explain_cache_app, explain_cache);
  ModelOptions model;
  CLI::App& model_app =
      *app.add_subcommand("model", "explain a model's shapes, pages and block sizes");
  add_model_options(model_app, model);
  ConformanceCommandOptions conformance;
  CLI::App& conformance_app =
      *app.add_subcommand("conformance", "recompute reference vectors and compare every field")
           ->alias("verify");
  add_conformance_options(conformance_app, conformance);
  CLI::App& lessons_app =
      *app.add_subcommand("lessons", "learn by stepping: text, steps and questions");
  const std::function<int()> lessons_command = add_lessons_command(lessons_app, backends);
  CLI::App& bugs_app =
      *app.add_subcommand("bugs", "known bugs of engines: what they are, and runs that show them");
  const std::function<int()> bugs_command = add_bugs_command(bugs_app);
  CLI::App& matrix_app =
      *app.add_subcommand("matrix", "which combinations of settings are safe in an engine");
  const std::function<int()> matrix_command = add_matrix_command(matrix_app, backends);
  CLI::App& shrink_app =
      *app.add_subcommand("shrink", "a smaller scenario or trace that still shows a finding");
  const std::function<int()> shrink_command = add_shrink_command(shrink_app);
  CLI::App& export_app = *app.add_subcommand(
      "export",
      "write a run as a table for vLLM's tests, as a pytest, or as a report for an issue");
  const std::function<int()> export_command = add_export_command(export_app);
  GuiOptions gui;
  CLI::App& gui_app =
      *app.add_subcommand("gui", "the workbench: step, see and change a run in a window");
  add_gui_options(gui_app, gui);
  CLI::App& doctor_app = *app.add_subcommand("doctor", "show what this build and machine support");
  describe_doctor(doctor_app);

  const std::vector<const CLI::App*> commands = {
      &run_app,    &judge_app,         &sessions_app, &diff_app,   &conformance_app,
      &model_app,  &lessons_app,       &bugs_app,     &matrix_app, &shrink_app,
      &export_app, &explain_cache_app, &gui_app,      &doctor_app};
  if (argc > 1 && argv[1][0] != '-' &&
      std::ranges::none_of(commands, [&](auto* command) { return command->check_name(argv[1]); })) {
    return report_usage(
        "", fmt::format("there is no command \"{}\" (run, judge, sessions, diff, conformance, "
                        "model, lessons, bugs, matrix, shrink, export, explain-cache, gui, doctor)",
                        argv[1]));
  }
  for (CLI::App* command : {&sessions_app, &lessons_app, &bugs_app})
    if (argc > 2 && command->check_name(argv[1]) && argv[2][0] != '-' &&
        !has_subcommand(*command, argv[2]))
      return no_such_subcommand(*command, argv[2]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Not to std::cout and std::cerr, which write to the streams of before.
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    fmt::print("{}", out.str());
    fmt::print(stderr, "{}", err.str());
    return code == 0 ? kExitFine : kExitUsage;
  }
  if (run_app.parsed()) return run_command(run, backends);
  if (judge_app.parsed()) return judge_command(judge);
  if (sessions_app.parsed()) return sessions_command();
  if (diff_app.parsed()) return diff_command(diff);
  if (explain_cache_app.parsed()) return explain_cache_command(explain_cache);
  if (model_app.parsed()) return model_command(model);
  if (conformance_app.parsed()) return conformance_command(conformance, backends);
  if (lessons_app.parsed()) return lessons_command();
  if (bugs_app.parsed()) return bugs_command();
  if (matrix_app.parsed()) return matrix_command();
  if (shrink_app.parsed()) return shrink_command();
  if (export_app.parsed()) return export_command();
  if (gui_app.parsed()) return gui_command(gui, backends);
  if (doctor_app.parsed()) return doctor_command(backends);
  return kExitUsage;
}

// Checks that all output was written: a full disk may show only at the last flush.
int with_written_output(int code) {
  const int failure = finish_streams();
  if (failure == 0) return code;
  report_message("", fmt::format("cannot write the output: {}", std::strerror(failure)));
  return kExitEnvironment;
}

}  // namespace

int run_command_line(int argc, char** argv, const Backends& backends) {
  make_streams_safe();
  try {
    return with_written_output(parse_and_run(argc, argv, backends));
  } catch (const ContractViolation& violation) {
    report_lines("",
                 fmt::format("internal error: {}\nThis is a bug of hybridscope; please report it.",
                             violation.what()));
    return kExitInternal;
  } catch (const std::bad_alloc&) {
    report_message("",
                   "not enough memory for these sizes (num_gpu_blocks_override, max_num_seqs, "
                   "max_model_len)");
    return kExitEnvironment;
  } catch (const std::system_error& error) {
    report_message("", error.what());
    return kExitEnvironment;
  }
}

}  // namespace hybridscope
