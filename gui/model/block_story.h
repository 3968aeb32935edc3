// Everything about one block at the step that is shown: who holds it, what it is registered as,
// what it holds, and where its content came from, back to the first write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/finding_chains.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// A column of a block table that holds the block.
struct BlockHolder {
  RequestId request{};
  std::string name;
  std::int32_t group = -1;
  std::int32_t column = -1;
  bool in_scheduler = false;
  bool in_worker = false;
  bool freed = false;  // the scheduler held it while the step ran, and freed it at the end
};

// "worker's table only"; empty: both tables have it, and keep it.
std::string_view holder_note(const BlockHolder& holder);

// One write; the next link is the write whose result it copied.
struct StoryLink {
  std::int64_t step = 0;
  std::int32_t block = -1;
  RequestId request{};
  std::string what;   // "post-copy": how it was written
  std::string words;  // "the state of 8 tokens of A, copied from block 2 to block 3 (column 1)"
  std::string fault =
      {};  // "expected 8: running-state-wrong in step 5"; empty: no finding blames it
  std::ptrdiff_t finding = -1;  // the index of that finding
};

struct ContentStory {
  ContentKind content = ContentKind::none;
  std::string title;             // "temporal state"
  std::vector<StoryLink> links;  // latest first
  std::string end;               // why the story ends here, or why there is none
};

struct BlockStory {
  std::int32_t block = -1;
  std::string not_kept;  // why everything else is missing; empty: nothing is
  // "holds S(8) of A, conv window 6 7 8; registered as the prefix of 8 tokens"; empty: not known.
  std::string holds;
  bool disagrees = false;          // content and registration differ, or a finding says so
  ChainStart wrong_since;          // of the findings that blame a write below; step 0: none does
  std::vector<Fact> facts;         // at the end of the step
  std::int64_t registered_in = 0;  // the step of its current registration; 0: not known
  std::vector<BlockHolder> holders;
  std::vector<ContentStory> contents;  // those that the block's group can have
};

// Requires: run.step() > 0, a block of the pool.
BlockStory make_block_story(ShownRun& run, std::int32_t block);

// What the panel shows. Requires: a step is shown.
Picture state_inspector_picture(Workbench& workbench);

}  // namespace hybridscope
