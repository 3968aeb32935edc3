#include "cli/program_commands.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "cli/bugs_list.h"
#include "cli/conformance_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/explain_cache_command.h"
#include "cli/export_command.h"
#include "cli/gui_command.h"
#include "cli/judge_command.h"
#include "cli/lessons_command.h"
#include "cli/matrix_command.h"
#include "cli/model_command.h"
#include "cli/plan_command.h"
#include "cli/run_command.h"
#include "cli/sessions_command.h"
#include "cli/shrink_command.h"

namespace hybridscope {
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

const ProgramCommand* find_program_command(std::string_view name) {
  const auto found = std::ranges::find_if(kCommands, [name](const ProgramCommand& command) {
    return command.name == name || (!name.empty() && command.alias == name);
  });
  return found == std::end(kCommands) ? nullptr : found;
}

}  // namespace hybridscope
