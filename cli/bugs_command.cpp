#include "cli/bugs_command.h"

#include <CLI/CLI.hpp>

#include <vector>

#include "cli/bugs_list.h"
#include "cli/bugs_run.h"

namespace hybridscope {

std::function<int()> add_bugs_command(CLI::App& bugs) {
  bugs.require_subcommand(0, 1);
  bugs.footer(
      "Examples:\n"
      "  hybridscope bugs\n"
      "  hybridscope bugs list --engine vllm@2026-06-29 --not-in vllm@2026-08-18\n"
      "  hybridscope bugs show 48\n"
      "  hybridscope bugs run mid-block-chunk-poisons-slot --explain\n"
      "  hybridscope bugs run --all --junit bugs.xml\n"
      "\n"
      "Profiles: safe, reference, vllm@DATE. Exit codes: 0 fine, 1 a scenario does not do what "
      "its\n"
      "file says, 2 usage or no such bug, 4 a report that cannot be written.\n"
      "The catalogue: docs/known-bugs.md.");
  const std::vector<BugsSubcommand> subcommands = {add_bugs_list(bugs), add_bugs_show(bugs),
                                                   add_bugs_run(bugs)};
  return [subcommands] {
    for (const BugsSubcommand& subcommand : subcommands)
      if (subcommand.app->parsed()) return subcommand.run();
    return subcommands.front().run();
  };
}

}  // namespace hybridscope
