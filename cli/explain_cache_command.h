// hybridscope explain-cache: why each request hit as many tokens as it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "cli/run_options.h"

namespace hybridscope {

struct ExplainCacheOptions {
  RunOptions run;  // scenario, traffic, model, limit, settings
  RunOutput output = RunOutput::table;
  std::string request;                   // shown in full sentences; empty: all, as a table
  std::int64_t top = 0;                  // lookups that lost most, 0: not given
  std::vector<std::string> sweeps = {};  // settings to try, "NAME=VALUE,..."
};

void add_explain_cache_options(CLI::App& command, ExplainCacheOptions& options);
int explain_cache_command(const ExplainCacheOptions& options);

}  // namespace hybridscope
