#include "sessions/known_bugs/left_out_bugs.h"

#include <array>

namespace hybridscope {
namespace {

constexpr std::array kLeftOut = {
    LeftOutBug{
        11, "v2-seed-column-in-wrong-units",
        "the policy is there (`initial_state_column`) and profile pages has it, but no model of a "
        "scenario has recurrent blocks larger than cache_config.block_size; an engine made "
        "for the example shows it in tests/sessions/run/differences_test.cpp"},
    LeftOutBug{20, "ds-layout-precopy-multi-accept",
               "a crash of the reference; here every layout is shifted row by row"},
    LeftOutBug{21, "encoder-cap-starves-align-split", "there are no encoders here"},
    LeftOutBug{25, "conv-state-not-sized-for-spec",
               "profiles pages and vllm@DATE size the windows as the reference does, and a run in "
               "bytes refuses them; the checker gives every window its whole length"},
    LeftOutBug{26, "all-mode-block-not-multiple-of-chunk", "refused at start-up"},
    LeftOutBug{27, "mamba-blocks-never-zeroed",
               "makes others worse and does nothing alone: a block that is given out counts as "
               "never written here, and reading it is a finding"},
    LeftOutBug{28, "accepted-count-out-of-range-index",
               "counts outside 1..1 + K are refused or cut and reported"},
    LeftOutBug{36, "gdn-zero-length-rows-as-prefills",
               "a fault inside the GDN builder, whose rows are classed in one place here"},
    LeftOutBug{38, "gdn-decode-and-spec-decode-mix",
               "a fault inside the GDN builder that ended in an assertion"},
    LeftOutBug{41, "all-plus-spec-three-shape-bugs",
               "no engine here makes arrays of a wrong shape; the checker calls them "
               "metadata-inconsistent",
               "the index buffer and the padded slices"},
    LeftOutBug{42, "fused-postprocess-port-bugs",
               "lengths, widths and strides of addresses inside the kernel: copies are decided by "
               "blocks and token positions here, and a run in bytes compares what the kernels "
               "made of them",
               "(b) copy length, (c) 32-bit addresses, (e) strides of the other layout"},
    LeftOutBug{
        42, "fused-postprocess-port-bugs",
        "needs two columns of a row on one block with a state, which no engine here gives out",
        "(d) equal addresses for equal columns"},
    LeftOutBug{46, "prefill-row-replays-decode-graph-1tok",
               "the same policy value as no. 5, of which it is the case K = 0"},
};

}  // namespace

std::span<const LeftOutBug> left_out_bugs() { return kLeftOut; }

}  // namespace hybridscope
