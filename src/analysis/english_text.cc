#include "src/analysis/generated_probes.h"

namespace sightline::analysis {

std::string_view english_text() {
  return R"(The ferry leaves the small harbour at seven, and by the time the sun stands over the hills most of its passengers are asleep. Only the cook is awake, because he has to peel potatoes for ninety people before noon.

My grandmother kept bees behind the house. She said that they knew her by her voice, and that a hive should never hear an argument. When two neighbours quarrelled at the fence, she walked over and asked them to go somewhere else.

A river that looks slow on the map can be quick in the valley. The bridge was built for carts, not for trucks, and every spring the engineers measure how far its middle pillar has moved since the year before.

After the lecture a student asked why glass is transparent and sand is not. The professor smiled, drew two pictures on the board, and told her that the answer would take the rest of the week.

The museum bought the painting in March, but nobody could say who had made it. Its frame was older than its canvas, its colours were younger than its varnish, and the name in the corner had been added last of all.

We carried the piano up four flights of stairs. On the third floor the rope began to slip, so the tallest of us put his shoulder under it and waited until the others had found a better hold.

Rain fell on the market for three days. The woman who sold apples covered her boxes with an old sail, and the man beside her, who sold umbrellas, gave her one of them as a present.

The committee will meet again when the report has been read by everyone who signed it. Until then the old rules apply, even where they contradict each other, and no member may speak to the press about them.

If you want to bake bread, begin the evening before. Mix flour, water, salt and a little yeast, cover the bowl, and leave it alone. Time does most of the work, and the oven does the rest.

The dog found the glove under the bench, carried it across the park and laid it in front of a stranger. The stranger, who had lost nothing, looked around for somebody with a cold hand.

Nobody had repaired the clock since the war, yet it showed the right time twice a day. The children of the village were proud of that, and explained it to every visitor who stayed for lunch.

She opened the letter at the window. It was short, it was not signed, and it had been written with a pencil that somebody must have sharpened several times between the first line and the last.
)";
}

}  // namespace sightline::analysis
