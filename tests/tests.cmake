# What crosses folders. Tests of attention alone link to it alone, so that they are cross-compiled too.
sightline_test(test_attention_wide sightline_attention tests/attention)
if(TARGET test_attention_wide)
  target_sources(test_attention_wide PRIVATE tests/attention/strided.cc tests/attention/random_problem.cc
    tests/attention/observed.cc tests/attention/reference_check.cc tests/attention/part.cc)
endif()
