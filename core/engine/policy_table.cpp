// The table of policies: one row for each, in the order in which documents list them. What the
// releases do is in releases.cpp.
#include "core/engine/policy_table.h"

#include <utility>

#include "core/base/result.h"
#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/model/model_policies.h"

namespace hybridscope {
namespace {

// "NullRows::run]", "NullRows)7]": how the compiler spells the value, from its enum's name on.
template <auto Value>
constexpr std::string_view spelled() {
  const std::string_view function = __PRETTY_FUNCTION__;
  const std::string_view value = function.substr(function.find("Value = ") + 8);
  return value.substr(value.find("::") + 2);
}

// The enumerator's name; "" if no enumerator has this value.
template <auto Value>
constexpr std::string_view enumerator_name() {
  const std::string_view text = spelled<Value>();
  const std::size_t begin = text.find("::") + 2;
  const std::size_t end = text.find_first_of(";]");
  return begin != 1 && begin < end ? text.substr(begin, end - begin) : std::string_view{};
}

// The enum's name in snake_case, padded with zeros.
template <class Value>
constexpr auto kSnakeCase = [] {
  std::array<char, 64> name = {};
  std::size_t size = 0;
  for (const char letter : spelled<Value{}>()) {
    if (letter == ':') break;
    const bool upper = letter >= 'A' && letter <= 'Z';
    if (upper && size > 0) name[size++] = '_';
    name[size++] = upper ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return name;
}();

// `text` has no names: they follow from the enum and its enumerators.
template <class Value>
consteval Policy row(PolicyText text, Value in_reference, PolicyChange change) {
  static_assert(IsPolicy<Value>, "its header needs a PolicyOf<> beside the enum");
  text.name = std::string_view(kSnakeCase<Value>.data());
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    text.values = {enumerator_name<static_cast<Value>(I)>()...};
  }
  (std::make_index_sequence<8>());
  return {.text = text,
          .safe = static_cast<std::uint8_t>(PolicyOf<Value>::kSafe),
          .reference = static_cast<std::uint8_t>(in_reference),
          .change = change,
          .place = kPolicyPlace<Value>};
}

// The value in profile `reference` is the safe one where none is given: races whose order the
// reference leaves open, and faults of other trees.
template <class Value>
consteval Policy policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::between_steps);
}

// A policy that the caching stack obeys.
template <class Value>
consteval Policy caching_policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::not_caching);
}

// A policy by which blocks are laid out.
template <class Value>
consteval Policy sizing_policy(PolicyText text, Value in_reference = PolicyOf<Value>::kSafe) {
  return row<Value>(text, in_reference, PolicyChange::not_sizing);
}

constexpr Policy kTable[] = {
    caching_policy<MambaEagleLookahead>(
        {.help = "with drafts, whether a recurrent group looks one block beyond the hit"},
        MambaEagleLookahead::longer_limit),
    caching_policy<FullAttentionCut>({.help = "which attention groups are cut to the hit"},
                                     FullAttentionCut::first_spec_group),
    caching_policy<BlockRegistration>({.help = "when other requests can hit a block"},
                                      BlockRegistration::at_allocation),
    caching_policy<ReachableBoundaries>(
        {.help = "which states a retention interval keeps besides its own"},
        ReachableBoundaries::prompt_end),
    caching_policy<EagleMargin>(
        {.help = "with drafts, how far an attention group looks beyond the hit"}),
    caching_policy<EagleProof>(
        {.help = "with drafts, what makes room for the block that is computed again"}),
    caching_policy<HitsInsideBlocks>({.help = "whether a hit can end inside a block"},
                                     HitsInsideBlocks::never),
    caching_policy<PromptTailKey>(
        {.help = "where the end of a prompt is registered inside a block"}, PromptTailKey::never),
    caching_policy<TailRegistration>(
        {.help = "which steps register the end of a prompt inside a block"}),
    caching_policy<SameStepTail>(
        {.help = "whether a hit ends inside an attention block of the same step"}),
    caching_policy<PrefillCheckpoint>(
        {.help = "which chunks of a prefill store a state before their end"},
        PrefillCheckpoint::never),
    caching_policy<CheckpointStart>(
        {.help = "from where a chunk may store a state before its end"}),
    caching_policy<SkippedBasis>(
        {.help = "which tokens count as computed when old states are freed"}),
    caching_policy<StateRetirement>(
        {.help = "whether old states left of an empty column are freed"}),
    caching_policy<EmptyAllocation>(
        {.help = "whether an allocation of no block counts as the request's first"}),
    caching_policy<UncachedFree>(
        {.help = "without prefix caching, where in the free queue freed blocks go"}),
    policy<AlignedSplit>({.help = "where chunks of mode align may end"},
                         AlignedSplit::until_last_cache_position),
    policy<RowClassing>({.help = "what makes a row a decode"}, RowClassing::by_shape),
    policy<AcceptedCountOwner>({.help = "whether the accepted count survives a skipped step"},
                               AcceptedCountOwner::persistent_row),
    policy<OneTokenPrompt>({.help = "whether a prompt's last token is padded to 1 + K tokens"},
                           OneTokenPrompt::padded_with_placeholders),
    policy<NoDraftStep>({.help = "where a row without drafts reads its state"},
                        NoDraftStep::column_zero),
    policy<UniformDecodeTest>({.help = "which batches replay the verify graph"},
                              UniformDecodeTest::by_shape),
    policy<AllModeSpeculation>(
        {.help = "mode all with drafts: which column state is read from, and whether boundary "
                 "states are stored"},
        AllModeSpeculation::full_steps_remembered_no_copies),
    policy<StaleFrame>({.help = "what becomes of a frame in flight when its request is reset"},
                       StaleFrame::discard_by_token_count),
    policy<AcceptedCountLanding>(
        {.help = "when accepted counts of a frame in flight reach the host's rows"}),
    policy<DeferredFreeRefusal>(
        {.help = "when blocks run out: wait for deferred frees, or preempt"},
        DeferredFreeRefusal::preempt_on),
    policy<StaleRequestQueue>({.help = "where a preempted request waits for its frames in flight"}),
    policy<DraftSlots>({.help = "whether a drafter's slots count in the token budget"}),
    policy<LongPrefillThreshold>({.help = "when long_prefill_token_threshold cuts a chunk"}),
    policy<PreemptionIndex>(
        {.help = "policy priority: how the loop over running requests goes on after a preemption"}),
    policy<ResetPreemptions>({.help = "whether a step reports requests that a reset preempted"},
                             ResetPreemptions::not_reported),
    policy<CommitRegistration>({.help = "whose blocks are registered when a frame returns"}),
    policy<StoppedTokens>(
        {.help = "whether sampled tokens that a stop cuts off count as computed"}),
    policy<UnusedDrafts>({.help = "runner v2: whether drafts are made that no request can use"}),
    policy<CommonPrefixBlocks>(
        {.help = "whether blocks that all running requests share are counted"}),
    policy<RowOrder>({.help = "runner v2: order of the rows of a step"}, RowOrder::query_len),
    policy<FullRowsFirst>({.help = "runner v2: which rows of 1 + K tokens come first"}),
    policy<InitialStateColumn>(
        {.help =
             "runner v2, mode align: which block size gives an admitted request's state column"},
        InitialStateColumn::cache_config_block_size),
    policy<SlotCountReset>(
        {.help = "runner v2: in which modes an admitted request's accepted count starts at 1"},
        SlotCountReset::align_only),
    policy<ResumedStateColumn>({.help = "runner v1: whether a request that is reset and resumed in "
                                        "one step forgets its column"}),
    policy<PostCopyBlockTable>({.help = "whose block ids post-copies of mode align use"}),
    policy<BackwardPostCopy>(
        {.help = "whether post-copies to a column left of the running column are made"}),
    policy<AcceptedCountReset>(
        {.help = "runner v2: where the post-copy launch writes counts of 1"}),
    policy<PaddedPromptToken>({.help = "runner v2: first token of a prompt's padded last row"}),
    policy<ReturningDrafts>(
        {.help = "runner v1: drafts of a request that comes back after a skipped step"}),
    policy<AcceptedCountRead>({.help = "runner v1, modes none and all: whether counts are read "
                                       "before their copy to the host has ended"}),
    policy<RunningColumn>(
        {.help = "runner v1, mode align: which token count gives the pre-copy's column"}),
    policy<GdnTokenPartition>({.help = "token order of a mixed GDN batch"}),
    policy<GdnGates>(
        {.help = "whether GDN's gates are gathered like its tokens", .symbolic_state_only = true}),
    policy<ConvRoll>(
        {.help = "by how much a verify row shifts its conv window", .symbolic_state_only = true}),
    policy<ConvBoundaries>({.help = "mode all: which conv windows at block boundaries are stored",
                            .symbolic_state_only = true}),
    policy<KdaGateStride>({.help = "stride of the gates of a verify row's tokens in KDA kernels",
                           .symbolic_state_only = true}),
    policy<NullRows>(
        {.help = "whether state kernels skip rows of the null block", .symbolic_state_only = true}),
    policy<SameBlockShift>({.help = "order in which a conv window moves within its block",
                            .symbolic_state_only = true}),
    policy<PaddingPrefilling>({.help = "is_prefilling of padding rows"}),
    policy<ReusedMetadata>(
        {.help = "which arrays a group refreshes when it reuses another group's metadata"}),
    policy<DummyRunTables>({.help = "data parallel: block tables of dummy runs"}),
    sizing_policy<ConvStateSizing>(
        {.help = "whether conv windows have room for drafts in every model"},
        ConvStateSizing::as_reference),
    policy<CheckpointLayers>(
        {.help = "mode align: which layers have kernels that store a state inside a prefill"}),
    policy<CheckpointWrites>({.help = "which states inside a prefill the worker stores"}),
    policy<DraftMask>({.help = "which rows the builders are told the drafts of"}),
    policy<OneTokenChunk>({.help = "runner v2: what one token of a prompt with a state is"}),
    policy<PaddedRowClass>({.help = "Mamba builders: what a prompt's padded last token is"}),
    policy<MissingCounts>({.help = "Mamba builders: decode rows without accepted counts"}),
    policy<Mamba1Counts>({.help = "whether the Mamba1 builder takes accepted counts"}),
    policy<AllModeArrays>({.help = "Mamba builders, mode all: what the arrays hold"}),
    policy<GdnBatch>({.help = "how the GDN builder lays a batch out"}),
    policy<GroupBuilds>({.help = "V2: whether groups of one spec share a build"}),
    policy<CaptureList>({.help = "which sizes CUDA graphs are captured for by default"}),
    policy<DecodeGraphs>(
        {.help = "V2: the graphs of uniform decodes, and the order of the search"}),
};

constexpr std::size_t kNumPolicies = std::size(kTable);

constexpr bool has_each_place_once() {
  std::array<bool, kNumPolicies> used = {};
  for (const Policy& policy : kTable) {
    if (policy.place >= kNumPolicies || used[policy.place]) return false;
    used[policy.place] = true;
  }
  return true;
}
static_assert(has_each_place_once(),
              "The places of the policies (PolicyAt) are the numbers from 0 to the number of rows "
              "less 1, each once: a new policy takes the number of rows that there were before it, "
              "and has one row here. When one is taken out, the policy with the last place moves "
              "to the free one.");
static_assert(kNumPolicies <= PolicySet::kCapacity, "raise PolicySet::kCapacity");

constexpr auto kRowOfPlace = [] {
  std::array<std::size_t, kNumPolicies> rows = {};
  for (std::size_t i = 0; i < kNumPolicies; ++i) rows[kTable[i].place] = i;
  return rows;
}();

}  // namespace

std::span<const Policy> policy_table() { return kTable; }

const Policy& policy_at(std::size_t place) {
  HS_EXPECT(place < kNumPolicies);
  return kTable[kRowOfPlace[place]];
}

std::string_view policy_name(const PolicyValue& value) { return policy_at(value.place).text.name; }

std::string_view value_name(const PolicyValue& value) {
  return policy_at(value.place).text.values[value.value];
}

PolicySet reference_policies() {
  PolicySet policies;
  for (const Policy& policy : kTable) policy.set_value(policies, policy.reference);
  return policies;
}

void lay_over(PolicyOverrides& policies, const PolicyOverrides& changes) {
  for (std::size_t place = 0; place < changes.values.size(); ++place)
    if (changes.values[place]) policies.values[place] = changes.values[place];
}

PolicySet with_overrides(const PolicySet& policies, const PolicyOverrides& overrides) {
  PolicySet changed = policies;
  for (const Policy& policy : kTable)
    if (const auto value = overrides.values[policy.place]) policy.set_value(changed, *value);
  return changed;
}

PolicyOverrides overrides_of(const PolicySet& policies) {
  PolicyOverrides overrides;
  for (const Policy& policy : kTable) overrides.values[policy.place] = policy.value_in(policies);
  return overrides;
}

void keep_caching_policies(PolicySet& policies, const PolicySet& at_start) {
  for (const Policy& policy : kTable)
    if (policy.is_caching()) policy.set_value(policies, policy.value_in(at_start));
}

void keep_fixed_policies(PolicySet& policies, const PolicySet& at_start) {
  for (const Policy& policy : kTable)
    if (policy.change != PolicyChange::between_steps)
      policy.set_value(policies, policy.value_in(at_start));
}

}  // namespace hybridscope
