# Flags that every target of the project shares.
add_library(sightline_options INTERFACE)
target_include_directories(sightline_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# The order of floating-point operations is part of the interface: no contraction, no fast-math.
target_compile_options(sightline_options INTERFACE -Wall -Wextra -ffp-contract=off)
target_compile_definitions(sightline_options INTERFACE
  # AVX-512, AVX2, NEON and scalar only: SSSE3 and SSE4 have no fused multiply-add, g++ 12 miscompiles EMU128.
  "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)"
  HWY_BROKEN_EMU128=1
  # Scalar too where another target is the baseline (arm64), so that tests have something to compare it with.
  HWY_COMPILE_ALL_ATTAINABLE=1)
if(SIGHTLINE_SANITIZE)
  target_compile_options(sightline_options INTERFACE -fsanitize=${SIGHTLINE_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all)
  target_link_options(sightline_options INTERFACE -fsanitize=${SIGHTLINE_SANITIZE})
endif()
if(SIGHTLINE_SANITIZE MATCHES thread)
  target_compile_definitions(sightline_options INTERFACE SIGHTLINE_STD_THREADS)
  # Tests whose memory fails replace operator new, which this sanitizer's runtime defines, too; its own is used, and they
  # are left out.
  target_link_options(sightline_options INTERFACE LINKER:-z,muldefs)
endif()
