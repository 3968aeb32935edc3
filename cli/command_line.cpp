#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "cli/bugs_command.h"
#include "cli/commands.h"
#include "cli/conformance_command.h"
#include "cli/matrix_command.h"
#include "cli/plan_command.h"
#include "cli/process.h"
#include "cli/run_command.h"
#include "cli/sessions_command.h"
#include "sessions/job/version.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/text/input_file.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxFault = 4000;  // bytes of what an exception says

constexpr const char* kExamples =
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
    "  hybridscope plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 8000 --output 500\n"
    "  hybridscope conformance tests/golden\n"
    "  hybridscope gui scenarios/align_boundary_by_accepted_drafts.json";

std::vector<CLI::App*> subcommands_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// For the help of the command and of its subcommands.
void add_common_exit_codes(CLI::App& command) {
  const std::string own = command.get_footer();
  command.footer(own.empty() ? kCommonExitCodes : own + "\n" + kCommonExitCodes);
  for (CLI::App* subcommand : subcommands_of(command)) add_common_exit_codes(*subcommand);
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

  // Choices are named once: "step|all:{step,all}" repeats them.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string words = CLI::Formatter::make_option_opts(option);
    const auto open = words.find(":{");
    const auto close = words.find('}', open);
    if (open == std::string::npos || close == std::string::npos) return words;
    std::string choices = words.substr(open + 2, close - open - 2);
    std::ranges::replace(choices, ',', '|');
    if (words.substr(0, open).ends_with(choices)) words.erase(open, close + 1 - open);
    return words;
  }
};

int no_such_subcommand(CLI::App& command, const char* name) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : subcommands_of(command))
    names.push_back(subcommand->get_name());
  return report_usage(command.get_name(),
                      fmt::format("there is no command \"{}\" ({})", name, fmt::join(names, ", ")));
}

// Whether `name` stands where a subcommand of `command` must and is none.
bool misses_subcommand(CLI::App& command, const std::string& name) {
  const std::vector<CLI::App*> subcommands = subcommands_of(command);
  return !subcommands.empty() && !name.starts_with('-') &&
         std::ranges::none_of(subcommands,
                              [&](const CLI::App* one) { return one->check_name(name); });
}

// The first word that is no option; null: none.
const char* command_word(int argc, char** argv) {
  const auto word = std::find_if(argv + 1, argv + argc, [](const char* it) { return *it != '-'; });
  return word == argv + argc ? nullptr : *word;
}

std::string command_names() {
  std::vector<const char*> names;
  for (const ProgramCommand& command : program_commands()) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Options that vLLM has and we do not: "enforce_eager is not modelled: ...".
std::vector<std::string> unmodelled_options(int argc, char** argv) {
  std::vector<std::string> found;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (!word.starts_with("--")) continue;
    word = word.substr(
        2, word.find('=') == std::string_view::npos ? std::string_view::npos : word.find('=') - 2);
    std::string name(word);
    std::ranges::replace(name, '-', '_');
    if (const auto why = why_setting_not_modelled("", name); !why.empty())
      found.push_back(fmt::format("{} is not modelled: {}", name, why));
  }
  return found;
}

// "sessions list": the command that the words name, as far as they do.
std::string named_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return {};
  const std::string inner = named_command(*parsed.front());
  return parsed.front()->get_name() + (inner.empty() ? "" : " " + inner);
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string command = named_command(app);
  report_message(command, error.what());
  fmt::print(stderr, "hybridscope{}{} --help lists what it takes\n", command.empty() ? "" : " ",
             command);
  for (const std::string& setting : unmodelled_options(argc, argv))
    fmt::print(stderr, "{}\n", setting);
  return kExitUsage;
}

// By its name or alias; null: there is none.
const ProgramCommand* find_program_command(std::string_view name) {
  const auto found =
      std::ranges::find_if(program_commands(), [name](const ProgramCommand& command) {
        return command.name == name || (!name.empty() && command.alias == name);
      });
  return found == program_commands().end() ? nullptr : &*found;
}

int parse_and_run(int argc, char** argv, const Backends& backends) {
  CLI::App app(
      "Step through the state caching of hybrid language models and check what every block holds.",
      "hybridscope");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string("hybridscope ") + kVersion);
  app.require_subcommand(1);
  app.footer(kExamples);

  const char* const word = command_word(argc, argv);
  const ProgramCommand* const named = word == nullptr ? nullptr : find_program_command(word);
  if (word != nullptr && named == nullptr)
    return report_usage("", fmt::format("there is no command \"{}\" ({})", word, command_names()));
  RunCommand run;
  for (const ProgramCommand& command : program_commands()) {
    CLI::App& added = *app.add_subcommand(command.name, command.description);
    if (*command.alias != '\0') added.alias(command.alias);
    if (&command != named) continue;  // its options would be made for nothing
    run = command.add(added, backends);
    add_common_exit_codes(added);
    if (argc > 2 && argv[1] == word && misses_subcommand(added, argv[2]))
      return no_such_subcommand(added, argv[2]);
  }
  if (argc < 2) {
    fmt::print("{}", app.help());
    return kExitFine;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Not to std::cout and std::cerr, which write to the streams of before.
    std::ostringstream out;
    std::ostringstream err;
    if (app.exit(error, out, err) != 0) return report_parse_error(app, error, argc, argv);
    fmt::print("{}", out.str());
    return kExitFine;
  }
  const int code = run();
  return was_interrupted() ? kExitInterrupted : code;
}

// Checks that all output was written: a full disk may show only at the last flush.
int with_written_output(int code) {
  const int failure = finish_streams();
  if (failure == 0) return code;
  report_message("", fmt::format("cannot write the output: {}", write_error_words(failure)));
  return was_interrupted() ? kExitInterrupted : kExitEnvironment;
}

int report_own_fault(std::string_view what) {
  report_lines("", fmt::format("internal error: {}\nThis is a bug of hybridscope. Please report it "
                               "with this message, the command line, the files that it read, and "
                               "what hybridscope doctor prints.",
                               one_line(what, kMaxFault)));
  return kExitInternal;
}

}  // namespace

int run_command_line(int argc, char** argv, const Backends& backends) {
  make_streams_safe();
  end_at_interrupts();
  stop_waiting_when(was_interrupted);
  make_size_limit_an_error();
  try {
    return with_written_output(parse_and_run(argc, argv, backends));
  } catch (const std::bad_alloc&) {
    report_message("",
                   "not enough memory for these sizes (num_gpu_blocks_override, max_num_seqs, "
                   "max_model_len)");
    return kExitEnvironment;
  } catch (const std::system_error& error) {
    report_message("", error.what());
    return kExitEnvironment;
  } catch (const std::exception& fault) {  // a ContractViolation, or what nobody thought of
    return report_own_fault(fault.what());
  } catch (...) {
    return report_own_fault("an exception of no standard type");
  }
}

namespace {

// A command whose options are read into one `Options`: `add_options` says which there are, `run`
// takes them, and the backends where it wants them.
template <typename Options, void (*add_options)(CLI::App&, Options&), auto run>
RunCommand with_options(CLI::App& app, const Backends& backends) {
  const auto options = std::make_shared<Options>();
  add_options(app, *options);
  if constexpr (std::is_invocable_v<decltype(run), const Options&, const Backends&>)
    return [options, &backends] { return run(*options, backends); };
  else
    return [options] { return run(*options); };
}

// A command that makes its own function, without backends.
template <RunCommand (*add)(CLI::App&)>
RunCommand of_its_own(CLI::App& app, const Backends&) {
  return add(app);
}

RunCommand add_doctor_command(CLI::App& app, const Backends& backends) {
  describe_doctor(app);
  return [&backends] { return doctor_command(backends); };
}

constexpr ProgramCommand kCommands[] = {
    {"run", "", "step a scenario or traffic and check every step",
     &with_options<RunCommandOptions, &add_run_options, &run_command>},
    {"judge", "", "execute and check the decisions of another engine",
     &with_options<JudgeCommandOptions, &add_judge_options, &judge_command>},
    {"sessions", "", "recorded sessions: list, show, query, rerun, fork, export",
     &of_its_own<&add_sessions_command>},
    {"diff", "", "compare two sessions: first divergence, then all differences",
     &with_options<DiffCommandOptions, &add_diff_options, &diff_command>},
    {"explain-cache", "", "why each request hit as many tokens as it did",
     &with_options<ExplainCacheOptions, &add_explain_cache_options, &explain_cache_command>},
    {"model", "", "explain a model's shapes, pages and block sizes",
     &with_options<ModelOptions, &add_model_options, &model_command>},
    {"plan", "", "sizes of a model and its settings; which settings for its traffic",
     &of_its_own<&add_plan_command>},
    {"conformance", "verify", "recompute reference vectors and compare every field",
     &with_options<ConformanceCommandOptions, &add_conformance_options, &conformance_command>},
    {"lessons", "", "learn by stepping: text, steps and questions", &add_lessons_command},
    {"bugs", "", "known bugs of engines: what they are, and runs that show them",
     &add_bugs_command},
    {"matrix", "", "which combinations of settings are safe in an engine", &add_matrix_command},
    {"shrink", "", "a smaller scenario or trace that still shows a finding",
     &of_its_own<&add_shrink_command>},
    {"export", "",
     "write a run as a table for vLLM's tests, as a pytest, or as a report for an issue",
     &of_its_own<&add_export_command>},
    {"gui", "", "the workbench: step, see and change a run in a window",
     &with_options<GuiOptions, &add_gui_options, &gui_command>},
    {"doctor", "", "show what this build and machine support", &add_doctor_command},
};

}  // namespace

std::span<const ProgramCommand> program_commands() { return kCommands; }

}  // namespace hybridscope
