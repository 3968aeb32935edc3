// KVCacheManager::allocate_slots, step by step (semantics: allocate-slots).
#include <algorithm>
#include <optional>
#include <string>

#include "core/caching/kv_cache_manager.h"
#include "core/caching/manager_policies.h"

namespace hybridscope {

struct KVCacheManager::Plan {
  const CacheHit* hit = nullptr;  // null: no hit
  std::int32_t slot = -1;
  std::int32_t uncapped_computed_tokens = 0;  // computed and hit
  std::int32_t total_computed_tokens = 0;     // at most max_model_len
  std::int32_t processed_tokens = 0;          // of them, those whose old states may be freed
  std::int32_t prefill_end = 0;
  std::int32_t num_tokens_main_model = 0;
  std::int32_t num_tokens_need_slot = 0;
  Allocation allocation;

  std::span<const std::int32_t> hit_blocks(std::size_t group) const {
    return hit == nullptr ? std::span<const std::int32_t>{} : hit->blocks(group);
  }
};

Status KVCacheManager::check_args(const AllocateSlotsArgs& args) const {
  if (args.num_new_tokens <= 0)
    return invalid_input("num_new_tokens " + std::to_string(args.num_new_tokens) +
                         " must be greater than 0");
  if (args.num_new_computed_tokens < 0 || args.num_lookahead_tokens < 0)
    return invalid_input("num_new_computed_tokens " + std::to_string(args.num_new_computed_tokens) +
                         " and num_lookahead_tokens " + std::to_string(args.num_lookahead_tokens) +
                         " must not be negative");
  if (args.new_computed_blocks != nullptr &&
      args.new_computed_blocks->group_start.size() != managers_.size() + 1)
    return invalid_input("the hit's blocks are not those of " + std::to_string(managers_.size()) +
                         " KV-cache groups");
  return Ok{};
}

Result<Allocation> KVCacheManager::allocate_slots(const RequestCacheView& request,
                                                  const AllocateSlotsArgs& args) {
  if (const Status checked = check_request(request); !checked) return checked.error();
  if (const Status checked = check_args(args); !checked) return checked.error();
  Plan plan = make_plan(request, args);
  if (args.full_sequence_must_fit) {
    const std::int32_t full_num_tokens = std::min(request.num_tokens, max_model_len_);
    plan.allocation.num_blocks_to_allocate = blocks_of_full_sequence(plan, full_num_tokens);
    if (plan.allocation.num_blocks_to_allocate + plan.allocation.watermark_blocks >
        plan.allocation.num_free_blocks)
      return refuse(plan, AllocationRefusal::full_sequence);
  }
  // Happens even if the request is then refused for too few free blocks.
  if (plan.slot >= 0) remove_skipped_blocks(request.id, plan);
  plan.allocation.num_free_blocks = pool_.num_free_blocks();
  plan.allocation.num_blocks_to_allocate = blocks_to_allocate(plan);
  if (plan.slot >= 0) note_checkpoints(plan);
  if (plan.allocation.num_blocks_to_allocate + plan.allocation.watermark_blocks >
      std::int64_t{plan.allocation.num_free_blocks} - args.reserved_blocks)
    return refuse(plan, AllocationRefusal::not_enough_blocks);

  if (const Status allocated = allocate(request.id, plan); !allocated) return allocated.error();
  if (enable_caching_)
    cache_blocks(request, plan.slot,
                 std::min(plan.total_computed_tokens + args.num_new_tokens, request.num_tokens));
  plan.allocation.first_new_column = first_new_column_;
  return plan.allocation;
}

KVCacheManager::Plan KVCacheManager::make_plan(const RequestCacheView& request,
                                               const AllocateSlotsArgs& args) const {
  Plan plan;
  plan.slot = slot_of(request.id);
  if (args.new_computed_blocks != nullptr && !args.new_computed_blocks->empty())
    plan.hit = args.new_computed_blocks;
  plan.uncapped_computed_tokens = request.num_computed_tokens + args.num_new_computed_tokens;
  plan.total_computed_tokens = std::min(plan.uncapped_computed_tokens, max_model_len_);
  plan.processed_tokens =
      std::max(plan.total_computed_tokens -
                   (policies_.is(SkippedBasis::processed) ? request.num_in_flight_tokens : 0),
               0);
  plan.prefill_end = std::max(request.prompt.num_prompt_tokens, request.num_tokens - 1);
  plan.num_tokens_main_model = plan.total_computed_tokens + args.num_new_tokens;
  plan.num_tokens_need_slot =
      std::min(plan.num_tokens_main_model + args.num_lookahead_tokens, max_model_len_);
  const bool is_new =
      request.status == RequestStatus::waiting || request.status == RequestStatus::preempted;
  plan.allocation.watermark_blocks = args.has_scheduled_reqs && is_new ? watermark_blocks_ : 0;
  plan.allocation.num_free_blocks = pool_.num_free_blocks();
  plan.allocation.reserved_blocks = args.reserved_blocks;
  return plan;
}

BlockNeedArgs KVCacheManager::need_of(const Plan& plan, std::size_t group) const {
  return {.pool = pool_,
          .table = table(plan.slot, group),
          .new_computed_blocks = plan.hit_blocks(group),
          .num_tokens = plan.num_tokens_need_slot,
          .num_tokens_main_model = plan.num_tokens_main_model,
          .num_computed_tokens = plan.uncapped_computed_tokens,
          .prefill_end = plan.prefill_end};
}

std::int64_t KVCacheManager::blocks_to_allocate(const Plan& plan) const {
  std::int64_t num_blocks = 0;
  for (std::size_t group = 0; group < managers_.size(); ++group)
    num_blocks +=
        std::visit([need = need_of(plan, group)](
                       const auto& manager) { return manager.get_num_blocks_to_allocate(need); },
                   managers_[group]);
  return num_blocks;
}

std::int64_t KVCacheManager::blocks_of_full_sequence(const Plan& plan,
                                                     std::int32_t num_tokens) const {
  Plan whole = plan;
  whole.num_tokens_need_slot = num_tokens;
  whole.num_tokens_main_model = num_tokens;
  return blocks_to_allocate(whole);
}

void KVCacheManager::note_checkpoints(const Plan& plan) {
  for (std::size_t group = 0; group < managers_.size(); ++group) {
    RequestTable& list = tables_[static_cast<std::size_t>(plan.slot) * managers_.size() + group];
    std::visit([need = need_of(plan, group),
                &list](const auto& manager) { manager.note_checkpoint(list, need); },
               managers_[group]);
  }
}

// A hit that has to wait is reported as the reason, however many blocks are free.
Allocation KVCacheManager::refuse(const Plan& plan, AllocationRefusal refusal) const {
  Allocation refused = plan.allocation;
  refused.refusal = refusal;
  for (std::size_t group = 0; group < managers_.size(); ++group) {
    const std::span<const std::int32_t> blocks = plan.hit_blocks(group);
    if (first_planned_column(pool_, blocks) >= 0) {
      refused.refusal = AllocationRefusal::hit_planned;
      break;
    }
    const auto* mamba = std::get_if<MambaManager>(&managers_[group]);
    const auto* full = std::get_if<FullAttentionManager>(&managers_[group]);
    if ((mamba != nullptr && mamba->must_wait_for(pool_, blocks)) ||
        (full != nullptr && full->must_wait_for(blocks, plan.uncapped_computed_tokens)))
      refused.refusal = AllocationRefusal::hit_cached_this_step;
  }
  return refused;
}

void KVCacheManager::remove_skipped_blocks(RequestId request, const Plan& plan) {
  for (std::size_t group = 0; group < managers_.size(); ++group)
    std::visit(
        [&](auto& manager) {
          manager.remove_skipped_blocks(edit(request, plan.slot, group), plan.processed_tokens);
        },
        managers_[group]);
}

Status KVCacheManager::allocate(RequestId request, Plan& plan) {
  if (plan.slot >= 0 && plan.hit != nullptr)
    return invalid_input("request " + std::to_string(request.value) +
                         " holds blocks already; cached blocks can only be its first");
  if (plan.slot < 0) {
    plan.slot = acquire_slot(request);
    note_checkpoints(plan);
  }
  if (plan.hit != nullptr) add_local_computed_blocks(request, plan);
  for (std::size_t group = 0; group < managers_.size(); ++group) {
    const std::optional<std::int32_t> first_new_column = std::visit(
        [&](auto& manager) {
          return manager.allocate_new_blocks(edit(request, plan.slot, group),
                                             plan.num_tokens_need_slot, plan.num_tokens_main_model);
        },
        managers_[group]);
    if (!first_new_column)
      return invalid_input("request " + std::to_string(request.value) + ": KV-cache group " +
                           std::to_string(group) + " wants more than the " +
                           std::to_string(pool_.num_free_blocks()) +
                           " free blocks although enough were counted; its blocks do not match " +
                           std::to_string(plan.uncapped_computed_tokens) + " computed tokens");
    first_new_column_[group] = *first_new_column;
  }
  return Ok{};
}

void KVCacheManager::add_local_computed_blocks(RequestId request, const Plan& plan) {
  for (std::size_t group = 0; group < managers_.size(); ++group)
    std::visit(
        [&](auto& manager) {
          manager.add_local_computed_blocks(edit(request, plan.slot, group), plan.hit_blocks(group),
                                            plan.uncapped_computed_tokens);
        },
        managers_[group]);
}

void KVCacheManager::cache_blocks(const RequestCacheView& request, std::int32_t slot,
                                  std::int32_t num_tokens) {
  for (std::size_t group = 0; group < managers_.size(); ++group) {
    const std::int32_t group_tokens =
        coordinator_.num_tokens_to_cache(static_cast<std::int32_t>(group), num_tokens);
    std::visit(
        [&](auto& manager) {
          manager.cache_blocks(edit(request.id, slot, group), request.block_hashes, group_tokens,
                               request.prompt);
        },
        managers_[group]);
  }
}

}  // namespace hybridscope
