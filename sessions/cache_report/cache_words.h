// The sentences of a cache report, shared by command line and workbench.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine_config.h"
#include "sessions/cache_report/cache_changes.h"
#include "sessions/cache_report/lookup_report.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// "smallest cacheable prefix: 16 tokens, of a prompt of at least 17 (...)", or why there is none.
std::string smallest_prefix_words(const CacheRules& rules, const EngineConfig& config);

// "state missing 8, last token 1", most tokens first; empty: nothing was lost.
std::string lost_words(const LostTokens& lost);

// One sentence: tokens known, shared and served.
std::string lookup_words(const LookupReport& report, const Names& names);

// One sentence per reason, from the end of the common prefix back to the hit.
std::vector<std::string> loss_sentences(const LookupReport& report, const CacheRules& rules,
                                        const EngineConfig& config, const Names& names);

// "the end of the prompt", "the junction".
std::string_view kept_reason_words(KeptFor reason);

// "retention interval 0 keeps only the end of the prompt, 16, and the junction at 24". `kept`: what
// the interval keeps of a prompt besides its own multiples.
std::string retention_words(std::int32_t interval, std::span<const KeptBoundary> kept,
                            std::int32_t block_size);

// "The hit ends 6 tokens into a block of 8, ..."; empty: it ends at a block's end.
std::string inside_block_words(const LookupReport& report, const CacheRules& rules,
                               const EngineConfig& config);

// A sentence about a change of ChangeSearch::coarser_units: "With prefix_match_unit 4 the hit is 20
// tokens, 2 fewer."
std::string coarser_sentence(const CacheChange& change, const LookupReport& report,
                             const CacheRules& rules);

// "With 4 more shared tokens the hit is 16 tokens instead of 8."
std::string change_sentence(const CacheChange& change, const LookupReport& report);

}  // namespace hybridscope
