#include "suite/builtin_text.hpp"

namespace lynxkv::suite {

const std::vector<std::string>& adjectives() {
  static const std::vector<std::string> words = {
      "amber",  "brave",  "bright", "broken", "calm",   "clever", "cold",   "curious", "dark",    "deep",
      "early",  "faint",  "famous", "fast",   "free",   "gentle", "golden", "green",   "happy",   "heavy",
      "hidden", "hollow", "honest", "humble", "icy",    "kind",   "large",  "late",    "lazy",    "light",
      "little", "lonely", "loud",   "lucky",  "narrow", "noble",  "old",    "orange",  "patient", "plain",
      "proud",  "purple", "quick",  "quiet",  "rapid",  "rare",   "red",    "rough",   "round",   "rusty",
      "shy",    "silent", "silver", "simple", "sleepy", "slow",   "small",  "smooth",  "soft",    "steep",
      "strong", "sunny",  "sweet",  "tall",   "tender", "thin",   "tidy",   "tiny",    "warm",    "wild"};
  return words;
}

const std::vector<std::string>& nouns() {
  static const std::vector<std::string> words = {
      "anchor", "apple",  "arrow",  "badge",  "basket", "beach",  "bell",   "bird",   "boat",     "book",
      "bottle", "bridge", "bucket", "button", "cabin",  "candle", "castle", "chair",  "cherry",   "clock",
      "cloud",  "coin",   "crown",  "desert", "door",   "drum",   "eagle",  "engine", "feather",  "field",
      "flower", "forest", "garden", "guitar", "hammer", "harbor", "horse",  "house",  "island",   "jacket",
      "kettle", "kitten", "ladder", "lake",   "lamp",   "lemon",  "letter", "mirror", "mountain", "needle",
      "ocean",  "paper",  "pencil", "piano",  "planet", "pocket", "rabbit", "river",  "rocket",   "saddle",
      "school", "shadow", "ship",   "spoon",  "stone",  "table",  "tiger",  "tower",  "train",    "window"};
  return words;
}

const std::vector<std::string>& dull_sentences() {
  static const std::vector<std::string> sentences = {
      "The day is long.",         "The road goes on.",   "Clouds pass over the hill.",
      "Nothing happens here.",    "The wind is mild.",   "Leaves fall and lie still.",
      "A door opens and closes.", "The water is still.", "One hour follows another."};
  return sentences;
}

std::string_view valley_text() {
  return "The valley of Orrin lies between two ridges of grey stone, and a single river runs through it. The "
         "river is "
         "called the Sell, and it rises from a spring below Mount Tarn. In spring the Sell floods the low "
         "meadows, and "
         "the farmers move their sheep to the terraces above the mill.\n\n"
         "The oldest village in the valley is Brackwater. It was founded by a bridge builder named Edda "
         "Kell, who came "
         "from the coast with nine families. The bridge that she built has three arches and is made of red "
         "sandstone. "
         "Travellers still pay one copper coin to cross it, and the coins are kept in an iron box under the "
         "town hall.\n\n"
         "People in Brackwater live mostly from making paper. The paper is made from the bark of the white "
         "alder, which "
         "grows along the river. A good worker makes two hundred sheets in a day. The largest paper mill "
         "belongs to the "
         "Hollin family, and its wheel is turned by eight channels of water. In winter the wheel freezes, "
         "and the "
         "workers repair nets and carve spoons instead.\n\n"
         "North of the village stands an observatory with a green copper roof. It was paid for by a merchant "
         "named "
         "Tobias Wren, who had made his fortune by selling salt. The first astronomer to work there was Ilse "
         "Marrow. She "
         "kept a journal for thirty-one years and counted meteors on every clear night. Her assistant was a "
         "boy named "
         "Pell, who carried the lamps and later became a doctor. The telescope was stolen one autumn and was "
         "found "
         "again in a hay barn, with a family of owls asleep in its case.\n\n"
         "The school of the valley has two teachers and forty pupils. The pupils learn to read from an "
         "almanac, because "
         "for a long time it was the only book that every house owned. The almanac gives the dates of frost, "
         "the price "
         "of wool and the names of the winds. The wind from the east is called the Weaver, and the wind from "
         "the north "
         "is called the Old Man. When the Weaver blows for three days, the fishermen stay at home.\n\n"
         "Every year the valley holds a festival on the first Sunday of October. It is called the Lantern "
         "Walk. Each "
         "child carries a lantern made of turnip, and the walk ends at the lake, where a bonfire is lit. The "
         "baker gives "
         "away plum cake, and the youngest child may ring the bell of the chapel. One year it rained so hard "
         "that the "
         "walk was held inside the mill, and people still tell stories about it.\n\n"
         "The lake is named Lake Vesper. It is sixty metres deep, and its water is so clear that a white "
         "stone can be "
         "seen on the bottom. A kind of trout with blue spots lives in it and nowhere else. Fishing is "
         "allowed from May "
         "to August only. The ferry across the lake is called the Heron, and its captain is a woman named "
         "Maud Ferris. "
         "She has crossed the lake more than ten thousand times and has never learned to swim.\n\n"
         "The road out of the valley climbs to a pass with a small inn. The inn is known for its onion soup, "
         "and its "
         "sign shows a sleeping fox. The innkeeper, Jonas Pike, collects old clocks and owns seventy-two of "
         "them. None "
         "of them shows the same time. From the door of the inn one can see the sea on a clear day, and in "
         "the "
         "evening the lights of the harbour town of Skerry. A coach leaves for Skerry every Thursday at "
         "noon. The "
         "journey takes six hours, and the driver sings all the way.\n\n"
         "In the year of the great frost the valley was cut off for eleven weeks. The people shared their "
         "flour, and "
         "the school was closed because the ink froze. A shepherd named Anna Lund walked over the pass with "
         "a message "
         "sewn into her coat, and twelve sledges of grain came back with her. A statue of her stands in the "
         "market "
         "square. Children leave apples at its feet on the day of the first snow.\n\n";
}

const std::vector<Question>& valley_questions() {
  static const std::vector<Question> questions = {
      {"What is the river in the valley called?", {"Sell"}},
      {"Who founded the village of Brackwater?", {"Edda Kell"}},
      {"What is the bridge made of?", {"red sandstone", "sandstone"}},
      {"From the bark of which tree is the paper made?", {"white alder", "alder"}},
      {"To which family does the largest paper mill belong?", {"Hollin"}},
      {"Who paid for the observatory?", {"Tobias Wren", "Wren"}},
      {"How did Tobias Wren make his fortune?", {"salt"}},
      {"Who was the first astronomer at the observatory?", {"Ilse Marrow", "Marrow"}},
      {"What did the boy named Pell later become?", {"doctor"}},
      {"Where was the stolen telescope found?", {"hay barn", "barn"}},
      {"What is the wind from the east called?", {"Weaver"}},
      {"What is the wind from the north called?", {"Old Man"}},
      {"What is the festival in October called?", {"Lantern Walk"}},
      {"What does the baker give away at the festival?", {"plum cake"}},
      {"What is the name of the lake?", {"Vesper"}},
      {"How deep is the lake?", {"sixty metres", "sixty meters", "60 m"}},
      {"What is the ferry across the lake called?", {"Heron"}},
      {"Who is the captain of the ferry?", {"Maud Ferris", "Ferris"}},
      {"What does the sign of the inn show?", {"sleeping fox", "fox"}},
      {"What does the innkeeper Jonas Pike collect?", {"clocks"}},
      {"On which day does the coach leave for Skerry?", {"Thursday"}},
      {"Who walked over the pass with a message?", {"Anna Lund", "Lund"}},
      {"What do children leave at the feet of the statue?", {"apples"}},
      {"How long was the valley cut off in the year of the great frost?", {"eleven weeks"}}};
  return questions;
}

}  // namespace lynxkv::suite
