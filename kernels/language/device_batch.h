// A batch of a language model on a CUDA device: the arrays of a MachineForward, and what the host
// knows of them for the launches; and the work of one step, queued until it is sent. Not for other
// folders: it includes CUDA's headers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/language/language_machine.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/row_meetings.h"

namespace hybridscope {

struct DeviceDecodes {
  DecodeRows rows;
  RowRanges ranges;              // that can run at the same time
  std::int32_t first_token = 0;  // among the tokens of the group's parts
  std::int32_t num_tokens = 0;
  std::int32_t num_before = 0;     // tokens before the first row, which belong to none
  std::int32_t rolled_tokens = 0;  // ConvLayer::rolled_tokens
};

struct DevicePrefills {
  PrefillRows rows;
  RowRanges ranges;
  std::int32_t first_token = 0;
  std::int32_t num_tokens = 0;
  std::int32_t num_before = 0;
  bool prep_initial_states = true;
  bool stores_boundaries_by_piece = false;  // ConvLayer's
  std::int32_t num_in_front = 0;            // tokens of the batch before the part's first, for it
  // Form chunked, of which a layer takes one; else empty. Plans run in turn where rows meet too.
  std::span<const RowChunk> row_chunks;
  Mamba2Chunks mamba2_chunks;
  ChunkPlan row_chunk_plan;
  ChunkPlan mamba2_chunk_plan;

  bool is_chunked() const { return !row_chunks.empty(); }
};

// One KV-cache group. Spans are in device memory.
struct DeviceGroup {
  AttentionRows attention;
  RowRanges attention_ranges;
  std::int32_t block_size = 0;
  std::vector<DeviceDecodes> decodes;
  std::vector<DevicePrefills> prefills;
  // The tokens of all parts, one part after the other. In order: they are the batch's, and the
  // arrays are not needed.
  bool in_order = false;
  bool has_gate_tokens = false;               // that differ from the tokens
  std::span<const std::int32_t> tokens;       // of the batch
  std::span<const std::int32_t> gate_tokens;  // of the batch
  std::span<const std::int32_t> from;         // [T] the last of `tokens` that is this one; -1: none
};

struct DeviceForwardBatch {
  std::span<const std::int32_t> token_ids;  // [T]
  std::span<const std::int32_t> positions;  // [T]
  std::vector<DeviceGroup> groups;

  std::int32_t num_tokens() const { return static_cast<std::int32_t>(token_ids.size()); }
};

// A batch whose arrays are in a piece: spans are offsets until in() is told where the piece lies.
class StagedBatch {
 public:
  // Adds the batch's arrays to `piece`. `meetings`: of the machine's blocks.
  StagedBatch(const MachineForward& batch, RowMeetings& meetings, ArrayPiece& piece);

  DeviceForwardBatch in(const std::byte* piece) const;
  // Tokens of the batch, or of a group's parts, whichever are more.
  std::int32_t most_tokens() const { return most_tokens_; }
  // Pieces of chunks of any part.
  std::int32_t most_pieces() const { return most_pieces_; }
  // Equal keys: the launches of two batches differ in nothing but what the arrays hold, if their
  // pieces lie at the same place.
  const std::vector<std::int64_t>& key() const { return key_; }

 private:
  DeviceForwardBatch batch_;
  std::int32_t most_tokens_ = 0;
  std::int32_t most_pieces_ = 0;
  std::vector<std::int64_t> key_;
};

// The work of one step of a language model on a CUDA device, queued until it is sent: arrays in one
// piece, launches in order.

// Where the arrays of a step lie on the device.
struct StepPieces {
  const std::byte* front = nullptr;
  const std::byte* rest = nullptr;
};
using StepLaunch = std::function<Status(const StepPieces& pieces)>;

class DeviceLanguageStep {
 public:
  // Arrays in front lie at the same place in every step that has the same ones: those that a CUDA
  // graph reads.
  ArrayPiece& front() { return front_; }
  ArrayPiece& rest() { return rest_; }
  void add(StepLaunch launch) { launches_.push_back(std::move(launch)); }
  bool empty() const { return launches_.empty(); }

  // Sends the arrays and launches everything, then begins anew. Error: that of a launch, the
  // device's.
  Status send(DeviceUpload& upload, const LaunchContext& context);

 private:
  ArrayPiece front_, rest_;
  std::vector<StepLaunch> launches_;
};

}  // namespace hybridscope
