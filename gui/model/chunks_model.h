// How the scan kernels of each recurrent group cut the tokens of a step: sequences, logical
// chunks inside them, the grid of physical chunks, and where intermediate states are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// Tokens are counted as the kernel sees them: packed, from 0 at the first row it works on. In a GDN
// batch with prefills these are all rows except spec rows, decodes included.
struct ChunkSequence {
  RequestId request{};
  std::string name;
  std::int32_t number = 0;  // seq_idx: of the rows that the scan works on
  std::int32_t first = 0;   // packed tokens [first, last)
  std::int32_t last = 0;
  std::int32_t num_computed_tokens = 0;  // position of its first token
};

struct LogicalChunk {
  std::int32_t number = 0;
  std::int32_t sequence = -1;  // index into sequences
  std::int32_t first = 0;
  std::int32_t last = 0;
  bool is_last = false;  // of its sequence: last_chunk_indices names it
};

struct ChunkArray {
  std::string name;
  std::string values;
};

struct ChunkGroup {
  std::int32_t group = -1;
  std::string title;  // "group 1 (mamba2)"; followed by "as group 1" where it is the same
  std::string rule;   // what cuts, in one sentence
  std::int32_t chunk_size = 0;
  std::int32_t num_tokens = 0;         // that the scan works on, packed
  std::int32_t num_decode_tokens = 0;  // of them those of rows past their prompt
  std::vector<ChunkSequence> sequences;
  std::vector<LogicalChunk> logical;
  std::vector<std::int32_t> physical;  // packed tokens where physical chunks begin, the first is 0
  std::vector<std::int32_t> boundaries;  // mode all: packed tokens after which a block is full
  std::vector<ChunkArray> arrays;
};

struct ChunksModel {
  std::vector<ChunkGroup> groups;  // groups with the same chunks are merged
  std::string empty;               // why there are none
};

// Requires: run.step() > 0.
ChunksModel make_chunks_model(const ShownRun& run);

// "packed tokens 9 (1 of decode rows), sequences 2, logical chunks 2, chunk_size 64".
std::string chunk_counts(const ChunkGroup& group);

std::vector<Fact> describe_chunk(const ChunkGroup& group, const LogicalChunk& chunk);

// What the panel shows. Requires: a step is shown.
Picture chunks_picture(Workbench& workbench);

}  // namespace hybridscope
