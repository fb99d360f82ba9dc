/**
 * Forms of lasting facts whose values are open: habits, tastes, possessions, occupations by their endings. They are read
 * after the closed forms of a language.
 */
import type { Code, Predicate } from './memory-form.ts';

/** How often something is done. */
const REGULARLY =
  /(?:(?:every|each|most) (?:other |single )?(?:day|morning|evening|night|afternoon|week|weekend|month|days|mornings|evenings|nights|weeks|weekends|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|spring|summer|autumn|winter|year|Christmas|Easter)|(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s|(?:once|twice|three times|four times) a (?:day|week|month|year)|(?:two|three|four|five|six|seven) (?:days|mornings|evenings|nights|afternoons|times) a (?:week|month|year)|(?:at|on) weekends|at the weekend|in the (?:mornings|evenings|afternoons)|before (?:work|breakfast|bed|school)|after work|in my spare time|all year round)(?!\p{L})/iu;
const OCCUPATION_ENDING =
  /^(?:an? |the )(?:(?!bit |little |few |lot |pair |better |later )[\p{L}-]{2,20} ){0,2}(?!bit|little|number|matter|monster|member|beginner|loser|winner|liar|killer|bummer|stranger|danger|disaster|bother|woman|man|human|gentleman|sucker|better|later|corner|paper|computer|customer|letter|poster|dinner|shower|user|caller|charmer|order|answer|minor|favor|error|mirror|doctor's|mister|sister|brother|mother|father|daughter|quarter|weather|feather|summer|winter|burger|river|tower|power|flower|layer|buyer|seller|rubbish|important|different|constant|vegetarian|list|twist|assist|fist)[\p{L}-]{0,20}(?:maker|minder|worker|dresser|keeper|smith|wright|[\p{L}]{2}(?:er|or|eer|ist|ician|ologist|ographer|ian|man|woman)|nurse|vet|chef|cook|paramedic|medic|nun|priest|vicar|imam|rabbi|judge|clerk|nanny|guide|guard|student|apprentice|freelancer|accountant|assistant|consultant|servant|agent|barista|joiner|roofer|plasterer)(?![\p{L}'])/iu;
const NO_OCCUPATION_AFTER = /(?: of yours| of his| than| today| right now)/iu;
const THINGS =
  /^(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|my own|our own|no) (?:(?!meeting|bit )[\p{L}-]{2,20} ){0,2}?(?:dogs?|cats?|rabbits?|hamsters?|parrots?|tortoises?|snakes?|lizards?|budgies?|goldfish|horses?|pony|ponies|donkeys?|goats?|chickens|hens|bees|ducks|sheep|ferrets?|guinea pigs?|pupp(?:y|ies)|kittens?|caravan|camper ?van|motorhome|motorbike|boat|tractor|cottage|farm|allotment|greenhouse|workshop|piano|violin|guitar|cello|harp|telescope|kiln|loom|(?:step|god|grand)?(?:sons?|daughters?)|brothers?|sisters?|boys?|girls?|kids|children|twins?|nephews?|nieces?|boyfriend|girlfriend|pacemaker|stutter|lisp|tattoos?|limp|allergy|intolerance|prosthetic leg|glass eye|degree in .+|phd in .+|driving licen[cs]e|season ticket|black belt|mortgage|garden|(?:weak|bad|dodgy|slipped|trapped|artificial|new|false|sensitive) (?:back|knees?|hips?|shoulders?|ankles?|wrists?|neck|hearts?|disc|nerve|teeth|tooth|stomach|bladder|eyes?)|sense of (?:smell|direction|rhythm)|car|telly|television|siblings)(?!\p{L})/iu;
/** Words after a possession that make the statement temporary. */
const WAITING =
  /(?: (?:to|waiting|coming|outside|here|there|parked|booked|today|tomorrow|left|for you|for sale|on the way|in the way|in the car))(?!\p{L})/iu;
const MOMENT =
  /(?: (?:now that|tonight|again|already|at last|later|yet|anymore then|on time|this time))(?!\p{L})/iu;

/** A word for a kind of things, not for a particular one. */
const KIND =
  /^(?!it|that|this|these|those|to |the |a |an |my |your |his |her |our |their |you|him|them|me|us|when|how|what|where|who|if|being|saying|asking|having|leaving|waiting|doing|getting|seeing|hearing|meetings|mondays|everything|nothing|anything|all |both |each |every|some|one|so |and|or |of |about )\p{Ll}{3,}/u;
const KIN_OF_SPEAKER =
  /^(?:|ex|ex-husband|ex-wife|stepdad|stepmum|stepmother|stepfather|husband|wife|partner|girlfriend|boyfriend|fiancée?|brother|sister|mother|mum|mom|father|dad|son|daughter|parents|kids|children|boys|girls|twins|grandmother|grandfather|grandma|grandpa|grandad|granddad|granny|gran|nan|nana|uncle|aunt|auntie|cousin|nephew|niece|godson|goddaughter|grandson|granddaughter|stepson|stepdaughter|flatmate|roommate|housemate|neighbour|neighbor|friend|boss|mother-in-law|father-in-law|brother-in-law|sister-in-law|in-laws|youngest|eldest|oldest|baby|twin)$/i;
const ANY_WORK =
  /^(?:in|with|for|on) (?!it|that|this|you|him|her|them|me|us|the (?:garden|kitchen|report|morning|afternoon|evening|dark|end|meantime|background|rain|cold|car|train|back|front|middle|same|next|first|last|other)|my |your |his |our |a (?:minute|moment|hurry|rush|bit|second|week|month|while|way)|and|now|then|time|hope|case|favou?r)\p{L}/iu;

const ENGLISH_HABITS: readonly Predicate[] = [
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:am|are|is|have been|has been) (?<value>(?:an? |the )\p{L}.+)/u,
    say: 'is {}',
    topic: 'work',
    is: OCCUPATION_ENDING,
    not: NO_OCCUPATION_AFTER,
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:was|used to be) (?<value>an? \p{L}.+)/u,
    say: 'was {}',
    is: OCCUPATION_ENDING,
    not: NO_OCCUPATION_AFTER,
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>used to (?:live (?:in|on|near) \p{L}|work (?:in|for|at|as|on|with) \p{L}|teach|run|own|play (?:the |in |for )?|sing in|row for|smoke|drive an? |study) ?.*)/u,
    say: '{}',
    not: MOMENT,
    maxWords: 7,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ lived in (?<value>\p{Lu}\p{L}+ (?:for (?:\p{L}+ )?(?:years|\p{L}+ years)|until .+|when .+))/u,
    say: 'lived in {}',
    maxWords: 6,
  },
  {
    after: /^ (?:have |has )?moved (?:here |over )?from (?<value>\p{Lu}\p{L}+)/u,
    say: 'is from {}',
    topic: 'origin',
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:works?|is working|am working) (?<value>(?:in|with|for|on) .+)/u,
    say: 'works {}',
    topic: 'employer',
    holds: ANY_WORK,
    not: MOMENT,
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ works? (?<value>(?:nights|days|shifts|weekends|part[- ]time|full[- ]time|freelance|offshore|abroad|outdoors|at sea|from home)(?: .+)?)/u,
    say: 'works {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:have |has )?started (?:work |working |a job |a new job )?(?:at|for|with) (?<value>(?:the )?\p{L}.+)/u,
    say: 'works at {}',
    topic: 'employer',
    is: /^(?:\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?|the (?:\p{L}+ )?(?:office|council|hospital|school|bakery|library|university|college|clinic|bank|factory|museum|nursery|shop|firm|company|surgery|practice))(?!\p{L})/u,
    maxWords: 4,
  },
  {
    after: /^ (?:am|is) (?:working )?(?:at|with) (?<value>\p{Lu}\p{L}+) now(?!\p{L})/u,
    say: 'works at {}',
    topic: 'employer',
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:am|are|is) (?<value>training (?:to be|as|to become) an? .+)/u,
    say: 'is {}',
    maxWords: 6,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:am|are|is) doing (?<value>(?:an?|my|her|his) (?:phd|doctorate|degree|master's|masters|apprenticeship|course|a levels|diploma)(?: (?:in|at|with) .+)?)/iu,
    say: 'is doing {}',
    topic: 'studies',
    maxWords: 6,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:am|are|is) (?<value>(?:at|in) (?:university|uni|college|school|sixth form|primary school|nursery|year \p{L}+|reception)(?: in \p{L}+)?(?!\p{L}))/u,
    say: 'is {}',
    topic: 'school',
  },
  {
    after:
      /^ (?:am|are|is) (?:the |an? )?(?<value>(?:treasurer|chair|chairman|chairwoman|captain|secretary|president|leader|head|goalkeeper|trustee|governor|warden|coach|referee) (?:of|at|in|for) .+)/u,
    say: 'is {}',
    maxWords: 7,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:have|has|got|own|owns|keep|keeps)(?: got)? (?<value>(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|my own|our own|no) .+)/u,
    say: 'has {}',
    is: THINGS,
    not: WAITING,
    maxWords: 7,
  },
  {
    after:
      /^ (?:keep|keeps|breed|breeds|raise|raises) (?<value>(?:bees|chickens|hens|ducks|goats|sheep|horses|rabbits|pigeons|fish|geese|pigs|cattle|snakes|budgies|quails|alpacas|an? diary|a journal)(?!\p{L}))/u,
    say: 'keeps {}',
  },
  {
    after:
      /^ (?:grow|grows|make|makes|bake|bakes|brew|brews|roast|roasts|sew|sews|knit|knits) (?:all )?(?<value>(?:my|our|her|his) own \p{L}+)/u,
    say: 'makes {}',
  },
  {
    after:
      /^ (?<value>(?:knit|paint|sew|draw|sculpt|garden|ski|surf|sail|climb|juggle|crochet|embroider|cycle|box|fence|row|meditate|swim|weave|whittle)s?)(?: (?:for fun|in my spare time|a bit|a lot|to relax))?(?=$|[.,;!]| (?:and|but|so|because)(?!\p{L}))/u,
    say: '{}',
    isVerb: true,
    maxWords: 1,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:cycle|walk|drive|commute|travel|run)s? to (?:work|school|the office)|takes? the (?:bus|train|tram|tube|metro|ferry) to (?:work|school|the office))(?!\p{L})(?! (?:today|tomorrow|this))/u,
    say: '{}',
    isVerb: true,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:get|gets|wake|wakes|go|goes|cook|cooks|eat|eats|drink|drinks|take|takes|work|works|drive|drives|have|has|volunteer|volunteers|teach|teaches|babysit|babysits|look after|looks after|see|sees|phone|phones|call|calls|ring|rings|help|helps|clean|cleans|read|reads|write|writes|paint|paints|fast|fasts|pray|prays|meditate|meditates|sleep|sleeps|coach|coaches|sell|sells|bake|bakes|swim|swims|cycle|cycles|fish|fishes|ride|rides|jog|jogs|garden|gardens|do|does|watch|watches|listen|listens) .+)/u,
    say: '{}',
    isVerb: true,
    holds: REGULARLY,
    not: /(?: (?:tell|told|say|said|forget|think)|\bhave to|\bhas to|\bgo and)(?!\p{L})/iu,
    minWords: 4,
    maxWords: 10,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:always|never|only|hardly ever|rarely|mainly) (?:eat|drink|sleep|wear|take|use|cook|bake|drive|fly|cycle|walk|run|swim|read|write|listen|watch|work|pay|buy|sit|carry|travel|have|order|go|play|keep|sing|speak|get up|wake up)s? .+)/u,
    say: '{}',
    isVerb: true,
    not: /(?: (?:again|here|there|now|today|to say|to do|tonight|enough|right|wrong|home yet|an? (?:chance|clue|idea|problem))|have to|get to|have time|go wrong)(?!\p{L})/iu,
    minWords: 3,
    maxWords: 8,
  },
  {
    after: /^ (?:hate|hates|dislike|dislikes|detest|detests|loathe|loathes|despise|despises) (?<value>.+)/u,
    say: 'dislikes {}',
    is: /^(?!it|that|this|these|those|to |the |a |an |my |your |his |her |our |their |you|him|them|me|us|when|how|what|where|who|if|being|saying|asking|having|leaving|waiting|doing|getting|seeing|hearing|meetings|mondays|everything|nothing|anything|all |both |each |every|some|one|so |and|or |of |about )\p{Ll}{3,}(?: (?:in|on|with|and|of) \p{L}+)?/u,
    maxWords: 3,
  },
  {
    after:
      /^ (?:do not|does not|am not|is not) (?:like|likes|care for|a fan of|keen on|fond of|into) (?<value>.+)/u,
    say: 'does not like {}',
    is: KIND,
    maxWords: 3,
  },
  {
    after: /^ (?:am|is) (?:not )(?:an? )?(?:big |great )?(?:fan|lover) of (?<value>.+)/u,
    say: 'does not like {}',
    is: KIND,
    maxWords: 3,
  },
  {
    after:
      /^ (?:am|is|are) (?<value>an? (?:huge |big |great )?(?:\p{L}+ )?(?:fan|lover|person|supporter|enthusiast|nerd))(?! of|\p{L})/u,
    say: 'is {}',
    not: /(?:nice|good|bad|only|other|same|first|last|third|second|kind|busy) person/iu,
    maxWords: 4,
  },
  {
    after:
      /^ (?:could|can) (?:eat|live on|live off) (?<value>\p{L}+(?: \p{L}+)?) (?:every (?:single )?day|all day|every night|forever)/u,
    say: 'loves {}',
    topic: 'favourite food',
    maxWords: 2,
  },
  {
    after: /^ (?:prefer|prefers) (?<value>(?:the |an? )\p{L}+ (?:seat|side|bed|room|table|pen|mattress))/u,
    say: 'prefers {}',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:cannot|can't) (?<value>(?:sleep|work|think|read|see|write|hear|eat|drive|run|walk|sit|function|concentrate|sing|cook|focus) (?:a thing )?(?:without|on|in|with|after|before|if|properly|unless) .+)/u,
    say: "can't {}",
    not: /(?: (?:it|that|this|here|today|tonight|tomorrow|all this|you|him|her|them|there))(?!\p{L})/iu,
    maxWords: 7,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:cannot|am not allowed|is not allowed|are not allowed) (?:to )?(?:take|have|eat|touch|stomach|do) (?<value>.+)/u,
    say: "can't have {}",
    is: /^(?:any )?(?!it|that|this|these|those|to |the |a |an |my |your |his |her |our |their |you|him|them|me|us|when|how|what|where|who|if|being|saying|asking|having|leaving|waiting|doing|getting|seeing|hearing|meetings|mondays|everything|nothing|anything|all |both |each |every|some|one|so |and|or |of |about )\p{Ll}{4,}/u,
    not: /(?:another|anything|long|more|much|part|place|calls|time|fridays?|mondays?)/iu,
    maxWords: 2,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:write|work|sleep|think|read|play|sing|learn)s? best (?:in|at|after|before|with|when|on|by) .+)/u,
    say: '{}',
    isVerb: true,
    maxWords: 8,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:have |has )?never (?:learned|learnt) (?:how )?to (?<value>\p{L}+(?: an? \p{L}+)?)/u,
    say: 'never learned to {}',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>suffers? from \p{L}.+|gets? (?:terrible |bad |awful |really )?(?:migraines?|hay ?fever|nosebleeds?|eczema|cold sores|panic attacks?|dizzy spells?|chilblains)(?!\p{L}))/u,
    say: '{}',
    isVerb: true,
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:have been|has been|was|were) (?<value>diagnosed with .+)/u,
    say: 'was {}',
    maxWords: 6,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ had (?<value>(?:an? |my |his |her )(?:[\p{L}-]+ ){0,2}(?:operation|surgery|transplant|bypass|heart attack|stroke|stent|amputation|hysterectomy|mastectomy)(?!\p{L}).*)/u,
    say: 'had {}',
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:carry|carries|use|uses) (?:an?|my|his|her) (?:epipen|inhaler|wheelchair|walking stick|cane|hearing aid|walker|insulin pump|stick)(?!\p{L}))/u,
    say: '{}',
    isVerb: true,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:am|are|is|have been|has been) (?<value>(?:completely |nearly |partly |half )?(?:deaf|blind) in (?:one|my|the|his|her) (?:left |right |other )?(?:ear|eye))/u,
    say: 'is {}',
  },
  {
    after:
      /^ (?<value>(?:have|has) not (?:had (?:a drink|a cigarette|meat|alcohol|sugar)|smoked|drunk|eaten meat|touched (?:meat|alcohol|a cigarette)) (?:in|for|since) .+)/u,
    say: '{}',
    isVerb: true,
    not: /(?:hours?|day|minutes?|this|today|morning)(?!\p{L})/iu,
    maxWords: 9,
  },
  {
    of: /^(?:back|knees?|hips?|eyes|eyesight|hearing|heart|memory|hands|shoulders?|lungs|feet)$/i,
    after:
      /^ (?:am|is|are|has been|have been) (?<value>(?:bad|weak|poor|going|failing|terrible|gone|not what .+|not great|ruined|shot)(?: (?:since|ever since|for) .+)?)/u,
    say: 'is {}',
    maxWords: 8,
  },
  {
    after:
      /^ (?:got divorced|separated|split up|have separated|have split up|are separated|am separated|is separated)(?!\p{L})/u,
    say: 'is separated',
    topic: 'state',
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:am|are|is) expecting(?: an? \p{L}+| twins| our \p{L}+)?(?: in (?<value>\p{Lu}\p{L}+))?/u,
    say: 'is expecting a baby in {}',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:turned|turns|has turned|is turning) (?<value>(?:\p{L}+ty|\d\d)(?:[- ]\p{L}+)?)(?=$|[.,!]| (?:last|this|in|on|next)(?!\p{L}))/u,
    say: 'turned {}',
    topic: 'age',
    maxWords: 2,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:am|is|are) (?:only |nearly |almost |now )?(?<value>(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|\d+) months old)/u,
    say: 'is {}',
    topic: 'age',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:live|lives|are living|is living) (?<value>(?:on|with|near|opposite|above|below|next|just|out|by|at|round|around|over|across|alone|together|abroad) .+)/u,
    say: 'lives {}',
    topic: 'address',
    not: /(?: (?:it|that|this|him|her|them|edge|fear))(?!\p{L})/iu,
    maxWords: 6,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?<value>(?:share|shares|rent|rents) (?:an? )(?:\p{L}+ )?(?:flat|house|room|apartment|studio|office)(?: .+)?)/u,
    say: '{}',
    isVerb: true,
    maxWords: 6,
  },
  {
    after: /^ (?:am|take|takes|wear|wears|is) (?:an? )?(?<value>size \p{L}+(?: \p{L}+)?)(?:$|[.,!]| in)/u,
    say: 'takes {}',
    topic: 'size',
    maxWords: 3,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:am|are|is) (?<value>(?:one|two|\d) (?:metres?|foot|feet) \p{L}+(?: \p{L}+)?)/u,
    say: 'is {} tall',
    topic: 'height',
  },
  {
    after: /^ (?:have|has) (?<value>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days (?:off|free))/u,
    say: 'has {}',
  },
  {
    of: /^(?:anniversary|wedding anniversary)$/i,
    after: /^ is (?:on )?(?<value>(?:the )?\p{L}+ (?:of )?\p{L}+)/u,
    say: 'is on {}',
    topic: 'day',
    holds: /(?:January|February|March|April|May|June|July|August|September|October|November|December)/,
    maxWords: 4,
  },
  {
    of: /^(?:first|second|native)$/i,
    after: /^ language is (?<value>\p{Lu}\p{L}+)/u,
    say: 'language is {}',
    topic: 'language',
  },
  {
    of: /^(?:car|bike|van|motorbike|camera|guitar|boat|piano|bicycle)$/i,
    after: /^ is (?<value>(?:an? )(?:\p{L}+ )?\p{Lu}\p{L}+)/u,
    say: 'is {}',
    topic: 'make',
    maxWords: 4,
  },
  {
    of: /^(?:landlord|landlady|doctor|dentist|boss|manager|teacher|neighbour|neighbor|lawyer|accountant)$/i,
    after: /^ is (?:a (?:man|woman|guy|lady) )?called (?<value>(?:Mr |Mrs |Ms |Dr )?\p{Lu}\p{L}+)/u,
    say: 'is called {}',
    topic: 'name',
  },
  {
    after:
      /^ (?:do|does) (?<value>(?:yoga|pilates|judo|karate|ballet|crosswords|jigsaws|boxing|archery|pottery|taekwondo|aikido|tai chi|gymnastics|athletics|triathlons|improv|calligraphy)(?!\p{L}))/u,
    say: 'does {}',
  },
  {
    after:
      /^ (?:play|plays) (?<value>(?:piano|guitar|violin|cello|bass|drums|cricket|squash|volleyball|bridge|poker|darts|snooker|netball|lacrosse|bowls|five-a-side|hockey|padel|table tennis|water polo|handball)(?!\p{L})(?: (?:in|for|with|on|at) .+)?)/u,
    say: 'plays {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:go|goes) (?<value>(?!shopping|looking|missing|wandering)\p{L}+ing (?:a lot|every .+|on \p{Lu}\p{L}+days))/u,
    say: 'goes {}',
    maxWords: 6,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:have|has) been (?<value>(?:married|together|divorced|sober|vegan|vegetarian|retired|engaged|widowed|living in \p{L}+|working (?:\p{L}{1,20} ){1,4}) (?:for )?(?:[\p{L}\d]+ ){1,3}(?:years|decades))/u,
    say: 'has been {}',
    maxWords: 8,
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ is a (?<value>rescue|labrador|poodle|terrier|spaniel|collie|beagle|dachshund|greyhound|whippet|tabby|siamese)(?!\p{L})/u,
    say: 'is a {}',
  },
  {
    after:
      /^ (?:only )?(?:have|has) (?:only )?(?:just )?(?:got )?(?:only )?(?:just )?(?:the )?one (?<value>(?:good )?(?:eye|kidney|lung|leg|arm|hand|ear))(?!\p{L})/u,
    say: 'has only one {}',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:had|died of|has died of) (?<value>(?:an? )?(?:heart attack|stroke|heart trouble|heart disease|breast cancer|bowel cancer|lung cancer|skin cancer|prostate cancer|cancer|osteoporosis|glaucoma|dementia|alzheimer's|parkinson's|polio|tuberculosis|tb|rheumatism|arthritis|diabetes|epilepsy|schizophrenia|depression))(?!\p{L})/iu,
    say: 'had {}',
    not: /(?: test| scare| check)/iu,
  },
  {
    after:
      /^ (?:have |has )?(?:just )?(?:got|landed|been offered|taken) (?:the|a) (?:new )?job (?<value>(?:at|in|with|as) .+)/u,
    say: 'has a job {}',
    topic: 'employer',
    maxWords: 5,
  },
  {
    of: KIN_OF_SPEAKER,
    after: /^ (?:am|are|is) studying to (?<value>be(?:come)? an? .+)/u,
    say: 'is studying to {}',
    topic: 'studies',
    maxWords: 5,
  },
  {
    after:
      /^ (?<value>(?:train|trains|run|runs|swim|swims|cycle|cycles|row|rows|climb|climbs|practise|practises|practice|work out|works out) (?:two|three|four|five|six|seven) (?:days|mornings|evenings|nights|afternoons|times) a week)/u,
    say: '{}',
    isVerb: true,
  },
  { after: /^ grew up (?<value>speaking \p{Lu}\p{L}+)/u, say: 'grew up {}', topic: 'language' },
  {
    after: /^ (?:was|were) (?<value>brought up (?:in|on|by) .+)/u,
    say: 'was {}',
    topic: 'childhood',
    maxWords: 5,
  },
  {
    after: /^ (?:keep|keeps) (?<value>kosher|halal|the sabbath|bees|chickens|hens)(?!\p{L})/iu,
    say: 'keeps {}',
  },
  {
    after:
      /^ (?:commute|commutes|cycle|cycles) (?<value>(?:by (?:bike|train|bus|car|tram|ferry)|to work)(?: every day)?)(?!\p{L})/u,
    say: 'commutes {}',
  },
  {
    after: /^ have lived in (?<value>\p{Lu}\p{L}+) (?:since|for) /u,
    say: 'lives in {}',
    topic: 'home',
  },
  {
    after:
      /^ (?:run|runs|own|owns|manage|manages) (?<value>the (?:\p{L}+ ){0,2}(?:shop|bakery|cafe|café|restaurant|farm|studio|garage|pub|hotel|practice|salon|gym|nursery|library|gallery|post office)(?: (?:in|on|at|by|near) .+)?)/u,
    say: 'runs {}',
    maxWords: 7,
  },
  {
    after: /^ (?:am|is) on (?<value>nights|earlies|lates)(?= (?:all|every|most|permanently)(?!\p{L}))/u,
    say: 'works {}',
  },
  {
    of: /^(?:shoe|collar|ring|hat|glove)$/i,
    after: /^ size is (?:an? )?(?<value>.+)/u,
    say: 'size is {}',
    is: /^(?:\d{1,2}|\p{L}+)(?: (?:and a half|one|two|three|four|five|six|seven|eight|nine))?/u,
    maxWords: 3,
  },
  {
    of: /^blood$/i,
    after: /^ (?:type|group) is (?<value>(?:A|B|AB|O|zero)(?: (?:positive|negative|plus|minus))?)(?!\p{L})/iu,
    say: 'group is {}',
  },
  {
    of: KIN_OF_SPEAKER,
    after:
      /^ (?:turn|turns|will be|am turning|is turning|is going to be) (?:\p{L}+(?:[- ]\p{L}+)?) on (?<value>the \p{L}+(?: \p{L}+)? of \p{Lu}\p{L}+|\p{Lu}\p{L}+ (?:the )?\p{L}+)/u,
    say: 'has a birthday on {}',
    topic: 'birthday',
    holds: /(?:January|February|March|April|May|June|July|August|September|October|November|December)/u,
  },
];

const DEUTSCH_REGELMÄSSIG =
  /(?:jede[nrs]? (?:zweiten? )?(?:Tag|Morgen|Abend|Nacht|Woche|Monat|Jahr|Wochenende|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag|Sommer|Winter)|(?:montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags|abends|morgens|vormittags|nachmittags|nachts|täglich)|immer (?:am \p{Lu}\p{L}+|mit|im|in|zum|zur|ohne)|(?:einmal|zweimal|dreimal) (?:in der|die|im|pro|am) (?:Woche|Monat|Jahr|Tag))(?!\p{L})/iu;
const DEUTSCHE_DINGE =
  /^(?:einen?|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|keinen?|kein) (?:(?!Termin)[\p{L}-]{2,20} ){0,2}?(?:Hunde?|Hündin|Katzen?|Kater|Kaninchen|Hamster|Papagei(?:en)?|Schildkröten?|Pferde?|Pony|Ziegen|Hühner|Bienen|Enten|Schafe|Meerschweinchen|Wellensittiche?|Wohnwagen|Wohnmobil|Motorrad|Boot|Segelboot|Hof|Bauernhof|Schrebergarten|Kleingarten|Garten|Gewächshaus|Werkstatt|Klavier|Geige|Flügel|Führerschein|Patenkind|Enkelkind(?:er)?|Söhne?|Sohn|Tochter|Töchter|Brüder|Bruder|Schwestern?|Geschwister|Kind(?:er)?|Mädchen|Jungs|Zwillinge|Freundin|Freund|Verlobte|Herzschrittmacher|Hörgerät|Tattoos?|\p{L}*[Aa]llergie|\p{L}*[Uu]nverträglichkeit|künstliche[ns]? (?:Knie|Hüfte|Hüftgelenk|Gelenk)|kaputte[ns]? (?:Knie|Rücken|Schulter|Hüfte)|schwaches Herz|Abo|Dauerkarte|Jahreskarte|Bahncard)(?!\p{L})/u;
const DEUTSCHER_BERUF =
  /^(?!Idiot|Ende|Zuhause|Feuer|Meinung|Letzter|Erster|Dritter|Zweiter|Gast|Spitze|Klasse|Schuld|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag|Januar|Februar|April|September|Oktober|November|Dezember|Sommer|Winter|Wasser|Wetter|Sieger|Verlierer|Retter|Besucher|Kunde|Partner|Bruder|Mutter|Vater|Tochter|Schwester|Anfänger|Zimmer|Fenster|Messer|Theater|Lager|Fehler|Ärger|Hunger|Schwer|Teller|Dauer|Feier|Eimer|Keller|Koffer|Pullover|Computer|Monster|Wunder|Moment|Student vom|Restaurant|Argument|Dokument|Patient|Präsent)[\p{Lu}]\p{Ll}+(?:er|erin|ist|istin|ant|antin|ent|entin|eur|eurin|wirt|wirtin|wart|arzt|ärztin|mann|frau|loge|login|pfleger|assistent|helfer|kraft|meister|ling|or|orin|ologe|ologin|graf|grafin|iker|ikerin|tin)(?!\p{L})/u;
const SPRECHER =
  /^(?:|Mann|Frau|Partner|Partnerin|Freund|Freundin|Verlobte|Verlobter|Schwester|Bruder|Mutter|Mama|Vater|Papa|Sohn|Tochter|Oma|Opa|Tante|Onkel|Cousin|Cousine|Neffe|Nichte|Schwager|Schwägerin|Schwiegermutter|Schwiegervater|Schwiegereltern|Eltern|Kinder|Großeltern|Enkel|Enkelin|Mitbewohner|Mitbewohnerin|Nachbar|Nachbarin|Kollege|Kollegin|Chef|Chefin|Ex|Exmann|Exfrau|Großer|Große|Kleiner|Kleine|Jüngster|Jüngste|Ältester|Älteste)$/;

const GERMAN_HABITS: readonly Predicate[] = [
  {
    of: SPRECHER,
    after:
      /^ (?:bin|ist|sind) (?:von Beruf |gelernter? |selber |selbst |jetzt )?(?<value>\p{Lu}\p{Ll}+)(?=$|[.,;!]| (?:und|von Beruf|bei|in|im|beim|an|am|seit|auf)(?!\p{L}))/u,
    say: 'ist {}',
    topic: 'work',
    is: DEUTSCHER_BERUF,
    maxWords: 1,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:bin|ist|war) (?:früher |mal |lange )?(?<value>\p{Lu}\p{Ll}+)(?: gewesen| von Beruf)?(?=$|[.,;!]| (?:gewesen|von Beruf|bei|in|im|beim|und))/u,
    say: 'war {}',
    is: DEUTSCHER_BERUF,
    maxWords: 1,
  },
  {
    of: SPRECHER,
    after: /^ war (?<value>(?:\p{L}+ )?(?:Jahre|Jahre lang) (?:bei|in|im|als|beim|an) .+)/u,
    say: 'war {}',
    maxWords: 8,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:mache|macht) (?:gerade )?(?<value>eine (?:Ausbildung|Lehre|Umschulung) (?:zu[mr]|als|bei) .+)/u,
    say: 'macht {}',
    topic: 'studies',
    maxWords: 5,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:bin|ist|sind) (?<value>(?:bei der|im|in der|beim) (?:freiwilligen |Freiwilligen )?(?:Feuerwehr|THW|DLRG|Rotes Kreuz|Roten Kreuz|Kirchenvorstand|Gemeinderat|Stadtrat|Chor|Ruderclub|Alpenverein|Sportverein|Schützenverein|Gartenverein|\p{Lu}\p{L}*(?:verein|chor|club|orchester|gruppe)))(?!\p{L})/u,
    say: 'ist {}',
  },
  {
    after: /^ (?:engagiere|engagiert) (?:mich|sich) (?<value>(?:bei|in|im|für) .+)/u,
    say: 'engagiert sich {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?:bin|ist) (?:ein |großer |riesiger )*(?<value>(?:Fan|Anhänger(?:in)?) (?:von|vom|der|des) .+)/u,
    say: 'ist {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?:bin|ist) (?<value>(?:kein|ein|eher ein) (?:\p{L}+mensch|Frühaufsteher|Nachtmensch|Langschläfer|\p{L}+muffel|\p{L}+typ))(?!\p{L})/u,
    say: 'ist {}',
  },
  {
    of: SPRECHER,
    after:
      /^ (?:habe|hab|haben|hat) (?<value>(?:einen?|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|keinen?|kein) .+)/u,
    say: 'hat {}',
    is: DEUTSCHE_DINGE,
    not: / (?:ge\p{L}+t|dabei|bestellt|verkauft|gefunden|verloren|mitgebracht|gesehen|gekauft|gemietet|heute|morgen|übrig|frei)(?!\p{L})/iu,
    maxWords: 7,
  },
  {
    of: SPRECHER,
    after: /^ (?:habe|hab|hat) (?:schon )?seit (?:.{2,25} )(?<value>\p{Lu}\p{L}+)(?=$|[.,!])/u,
    say: 'hat {}',
    is: /^(?:Asthma|Diabetes|Zucker|Migräne|Heuschnupfen|Bluthochdruck|Rheuma|Neurodermitis|Epilepsie|Arthrose|Gicht|Tinnitus|Zöliakie|Schuppenflechte|Parkinson|Demenz|Krebs|Rückenprobleme|Knieprobleme|\p{L}*allergie)$/u,
    maxWords: 1,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:bin|ist) (?<value>(?:auf|an) (?:dem|einem) (?:linken |rechten )?(?:Ohr|Auge) (?:taub|blind|schwerhörig))/u,
    say: 'ist {}',
  },
  {
    after: /^ (?:habe|hab|hat) mit dem (?<value>Rauchen|Trinken) aufgehört/u,
    say: 'hat mit dem {} aufgehört',
    topic: 'smoking',
  },
  {
    of: SPRECHER,
    after:
      /^ (?:nehme|nimmt) (?:.{2,25} )?(?<value>\p{Lu}\p{L}*(?:tabletten|tropfen|hormone|verdünner|blocker|senker|Insulin|Cortison|Metformin|Ibuprofen))(?!\p{L})/u,
    say: 'nimmt {}',
    maxWords: 2,
  },
  {
    after:
      /^ (?:trinke|trinkt) (?:meinen|seinen|ihren|den) (?<value>(?:Kaffee|Tee) (?:immer |nur )?(?:schwarz|mit .+|ohne .+))/u,
    say: 'trinkt {}',
    topic: 'drinks',
    maxWords: 5,
  },
  {
    after:
      /^ (?:fahre|fährt) (?:einen?|ein) (?<value>(?:alten? |altes |neuen? |kleinen? )?\p{Lu}\p{L}+)(?=$|[.,!])/u,
    say: 'fährt {}',
    topic: 'vehicle',
    maxWords: 3,
  },
  {
    of: SPRECHER,
    after:
      /^ (?<value>(?:fahre|fährt|gehe|geht|laufe|läuft|komme|kommt) (?:immer |jeden Tag |meistens )?(?:mit (?:dem|der) (?:Rad|Fahrrad|Auto|Zug|Bus|Bahn|Straßenbahn|U-Bahn)|zu Fuß) (?:zur Arbeit|ins Büro|zur Schule|in die Schule))/u,
    say: '{}',
    isVerb: true,
    maxWords: 9,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:wohne|wohnen|wohnt|lebe|lebt|leben) (?<value>(?:im (?:ersten|zweiten|dritten|vierten|fünften|sechsten|Erdgeschoss|Dachgeschoss|Hinterhaus)|am Stadtrand|auf dem Land|bei (?:meine|seine|ihre)\p{L} \p{L}+|auf einem \p{L}+|in einem \p{L}+|mit meine\p{L} \p{L}+|gegenüber|um die Ecke|über \p{L}+|neben \p{L}+|zur Miete|in einer \p{L}+)(?!\p{L})(?: .+)?)/u,
    say: 'wohnt {}',
    topic: 'address',
    maxWords: 6,
  },
  {
    after:
      /^ (?:lebe|lebt|leben|ernähre mich|ernährt sich) (?<value>vegan|vegetarisch|glutenfrei|abstinent|alkoholfrei)(?!\p{L})/u,
    say: 'lebt {}',
    topic: 'diet',
  },
  {
    of: SPRECHER,
    after:
      /^ (?:komme|kommt) (?:ursprünglich )?aus (?<value>einem (?:kleinen )?(?:Dorf|Ort|Kaff) (?:in|bei|an) (?:der |dem )?\p{Lu}\p{L}+|der (?:Schweiz|Türkei|Ukraine|Slowakei|Pfalz|Eifel|Steiermark|Lausitz|Oberpfalz)|dem (?:Iran|Irak|Libanon|Kosovo|Sauerland|Allgäu|Schwarzwald|Saarland|Burgenland|Ruhrgebiet|Emsland|Erzgebirge|Harz))/u,
    say: 'kommt aus {}',
    topic: 'origin',
    maxWords: 7,
  },
  {
    after:
      /^ (?:lerne|lernt) (?:gerade |jetzt |seit .{2,20} )?(?<value>\p{Lu}\p{L}+(?:isch|anisch|ändisch|ch)|Klavier|Geige|Gitarre|Cello|Gebärdensprache|Schwimmen|Segeln)(?!\p{L})/u,
    say: 'lernt {}',
  },
  {
    after: /^ (?:habe|hab|hat) (?<value>(?:Schuhgröße|Größe|Kleidergröße) .+)/u,
    say: 'hat {}',
    topic: 'size',
    maxWords: 2,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:arbeite|arbeitet) (?<value>(?:immer )?(?:nur |bloß )?(?:vormittags|nachmittags|nachts|halbtags|Teilzeit|Vollzeit|drei Tage|vier Tage))(?!\p{L})/u,
    say: 'arbeitet {}',
  },
  {
    after:
      /^ (?:habe|hab|hat) (?:immer )?(?<value>(?:montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags)(?: immer)? frei|(?:immer )?frei)(?!\p{L})/u,
    say: 'hat {}',
    holds: /tags|mittwochs/,
    maxWords: 3,
  },
  {
    after: /^ (?<value>(?:mag|esse|isst|vertrage|verträgt|trinke|trinkt|liebe|liebt|hasse|hasst) (?:.*)?)/u,
    say: '{}',
    isVerb: true,
    holds: /^\p{L}+ \p{Lu}\p{Ll}{3,}(?: (?:überhaupt |gar |leider |einfach )?nicht)?$/u,
    not: /(?:Sie|Ihnen|Ihre|Schnitzel bitte|Lied|Mal)(?!\p{L})/u,
    maxWords: 5,
  },
  {
    of: SPRECHER,
    after:
      /^ (?<value>(?!sage|sagt|denke|glaube|weiß|höre|möchte|will|kann|soll|muss|werde|würde|hoffe|meine|bin|ist|sind|war|habe|hab|hat|hätte|finde|brauche|wollte)\p{Ll}{3,}(?:e|t|en) .+)/u,
    say: '{}',
    isVerb: true,
    holds: DEUTSCH_REGELMÄSSIG,
    not: /(?: dich| dir| euch| Ihnen| Sie| aus\.)(?!\p{L})/u,
    minWords: 3,
    maxWords: 9,
  },
  {
    of: SPRECHER,
    after:
      /^ (?<value>(?:trinke|trinkt|esse|isst|fahre|fährt|schlafe|schläft|trage|trägt|kaufe|kauft|lese|liest|benutze|benutzt|koche|kocht|arbeite|arbeitet|schreibe|schreibt) (?:\p{L}+ ){0,3}(?:immer|nie|niemals|grundsätzlich|am besten|am liebsten) .+)/u,
    say: '{}',
    isVerb: true,
    not: /(?: (?:wieder|hier|heute|das|es))(?!\p{L})/iu,
    minWords: 3,
    maxWords: 8,
  },
  {
    after:
      /^ (?<value>imkere|imkert|angle|angelt|töpfere|töpfert|male|malt|nähe|näht|stricke|strickt|häkle|häkelt|segle|segelt|klettere|klettert|tauche|taucht|reite|reitet|jogge|joggt|rudere|rudert|gärtnere|gärtnert)(?: (?:gern|gerne|auch|viel|in meiner Freizeit))?(?=$|[.,!]| (?:seit|und|in)(?!\p{L}))/u,
    say: '{}',
    isVerb: true,
    maxWords: 1,
  },
  {
    of: SPRECHER,
    after:
      /^ (?:wird|wurde|ist) (?:bald |jetzt |am .{3,20} |im \p{L}+ |letztes Jahr |dieses Jahr )?(?<value>(?:\p{Ll}+und)?(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig|hundert))(?: geworden)?(?=$|[.,!])/u,
    say: 'wird {}',
    topic: 'age',
  },
  {
    of: SPRECHER,
    after:
      /^ (?:leben|lebe|sind|haben uns) (?:mittlerweile |inzwischen |jetzt )?(?:getrennt|auseinander)(?!\p{L})/u,
    say: 'lebt getrennt',
    topic: 'state',
  },
  {
    after:
      /^ (?:habe|hat) nur (?:noch )?(?<value>eine Niere|ein Auge|einen Arm|ein Bein|eine Hand|eine Lunge)(?!\p{L})/u,
    say: 'hat nur {}',
  },
  {
    after:
      /^ (?:bin|ist) (?:fast |ganz )?auf (?<value>de[mr] (?:linken|rechten|einen) (?:Auge|Ohr) (?:fast |so gut wie |ganz |ziemlich )?(?:blind|taub|schwerhörig))(?!\p{L})/u,
    say: 'ist auf {}',
  },
  {
    after:
      /^ (?:trainiere|trainiert|jogge|joggt|laufe|läuft|schwimme|schwimmt|turne|turnt|tanze|tanzt) (?<value>(?:zwei|drei|vier|fünf|sechs)mal (?:die|in der|pro) Woche)/u,
    say: 'trainiert {}',
  },
  {
    of: SPRECHER,
    after:
      /^ hatte (?:früher |auch )?(?<value>(?:einen |eine )?(?:Osteoporose|Krebs|Brustkrebs|Darmkrebs|Hautkrebs|Herzinfarkt|Schlaganfall|Demenz|Alzheimer|Parkinson|Diabetes|Zucker|Rheuma|Glaukom|Epilepsie|Tuberkulose))(?!\p{L})/u,
    say: 'hatte {}',
  },
  {
    after:
      /^ (?:habe|hat) (?:jetzt )?(?:die|eine) (?:neue )?(?:Stelle|Job) (?<value>(?:in|bei|beim|am|als|im|an) .+) (?:bekommen|gekriegt|angenommen)/u,
    say: 'hat eine Stelle {}',
    topic: 'work',
    maxWords: 6,
  },
  {
    of: /^Blutgruppe$/i,
    after: /^ ist (?<value>(?:A|B|AB|null|0)(?: (?:positiv|negativ|plus|minus))?)(?!\p{L})/iu,
    say: 'ist {}',
  },
  {
    after:
      /^ (?:habe|hat) nie (?<value>(?:schwimmen|Rad fahren|Auto fahren|kochen|lesen|schreiben)) gelernt/u,
    say: 'hat nie {} gelernt',
  },
  {
    after: /^ (?:bin|ist) mit (?<value>\p{Lu}\p{L}+) aufgewachsen/u,
    say: 'ist mit {} aufgewachsen',
    topic: 'childhood',
  },
  {
    of: SPRECHER,
    after: /^ (?:sitze|sitzt) (?:seit \p{L}+ \p{L}+ )?im Rollstuhl/u,
    say: 'sitzt im Rollstuhl',
  },
  {
    after: /^ (?:bin|ist) (?<value>(?:der|die) (?:Jüngste|Älteste|Mittlere|jüngste|älteste) von (?:\p{L}+))/u,
    say: 'ist {}',
  },
  {
    after:
      /^ (?:leide|leidet) (?:seit \p{L}+ \p{L}+ )?(?<value>(?:unter|an) (?:Migräne|Asthma|Heuschnupfen|Rheuma|Tinnitus|Depressionen|Schlaflosigkeit|Bluthochdruck|Neurodermitis|Arthrose|Höhenangst|Flugangst))(?!\p{L})/u,
    say: 'leidet {}',
  },
  {
    of: /^Hochzeitstag$/i,
    after: /^ ist am (?<value>\p{L}+ten \p{Lu}\p{L}+)/u,
    say: 'ist am {}',
    topic: 'day',
  },
  {
    of: SPRECHER,
    after:
      /^ wird am (?<value>(?:\p{L}+ten|\d{1,2}\.?) (?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)) \p{L}+/u,
    say: 'hat am {} Geburtstag',
    topic: 'birthday',
  },
];

const FRENCH_HABITS: readonly Predicate[] = [
  {
    after: /^ (?:habite|vit) (?<value>(?:au|dans|en|près|chez|sur) (?!\p{Lu})\p{L}.+)/u,
    say: 'habite {}',
    topic: 'address',
    not: /(?:ce moment|ça|moment|effet)/u,
    maxWords: 6,
  },
  {
    after: /^ (?:a arrêté|a arrêtée?) (?<value>de (?:fumer|boire|manger .+))/u,
    say: 'a arrêté {}',
    maxWords: 5,
  },
  {
    after:
      /^ (?<value>prend (?:des anticoagulants|des antidépresseurs|des bêtabloquants|des antihistaminiques|de l'insuline|de la cortisone|du lévothyrox|la pilule|un traitement)(?: .+)?)/iu,
    say: '{}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:fait|pratique) (?<value>(?:du|de la|de l') ?(?:yoga|judo|karaté|pilates|natation|escalade|course à pied|vélo|équitation|danse|boxe|théâtre|ski|surf|voile|poterie|rugby|foot|randonnée|tennis|couture|peinture)(?!\p{L})(?: (?:le|tous|chaque|depuis|une|deux) .+)?)/u,
    say: 'fait {}',
    maxWords: 7,
  },
  {
    after:
      /^ a (?<value>pas (?:le |mon |de )(?:permis|voiture|télé|enfants|téléphone|vélo|jardin|frères|sœurs))(?!\p{L})/u,
    say: "n'a {}",
  },
  { after: /^ (?<value>roule en \p{Lu}\p{L}+)/u, say: '{}', topic: 'vehicle' },
  {
    after:
      /^ a (?<value>une? (?:vieille |vieux |petite |grosse )?(?:Twingo|Clio|\p{Lu}\p{L}+|moto|camping-car|péniche|bateau|potager|jardin|piano|violon|chienne?|chatte?|lapin|tortue|poney))(?=$|[.,!]| (?:depuis|à|au|en|qui)(?!\p{L}))/u,
    say: 'a {}',
    maxWords: 4,
  },
  {
    after: /^ (?<value>va (?:au travail|au boulot|au bureau|à l'école) (?:à|en) \p{L}+)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    after: /^ (?:est|sommes|sont) mariée?s? (?<value>depuis .+|avec .+)/u,
    say: 'est marié {}',
    topic: 'state',
    maxWords: 4,
  },
  {
    after: /^ (?:est|a) (?<value>(?:séparée?s?|divorcée?s?|fiancée?s?|pacsée?s?))(?!\p{L})/u,
    say: 'est {}',
    topic: 'state',
  },
  {
    after:
      /^ (?:étais|était) (?<value>(?:un |une )?\p{L}+(?:eur|euse|ier|ière|ien|ienne|iste|aire|eure|prof|maçon)(?: (?:de|d'|à|en) ?\p{L}+)?)/u,
    say: 'était {}',
    maxWords: 4,
  },
  {
    after:
      /^ est (?<value>(?:bénévole|trésorière?|présidente?|secrétaire|pompier volontaire|entraîneuse?|entraîneur) (?:à|au|aux|de|du|dans|chez) .+)/u,
    say: 'est {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?<value>est \p{L}+(?:ologue|iste|ière|ier|euse|eur|trice|teur|icienne|icien|logue|graphe|thérapeute|aire))(?=$|[.,!]| (?:à|au|aux|en|dans|chez|depuis|de|d')(?!\p{L}))/u,
    say: '{}',
    topic: 'work',
    not: /(?:premier|première|dernier|dernière|triste|entier|entière|meilleur|nécessaire|contraire|claire|régulier|supérieur|intérieur|extérieur|sérieuse|heureuse|nerveuse|curieuse|ailleurs|prioritaire|tributaire|fier|fière|cher|chère|peur|tributaire|solidaire)$/u,
  },
  {
    after:
      /^ (?:lève|couche|réveille) (?<value>(?:à|avant|après|vers) .+ (?:tous les (?:jours|matins|soirs)|chaque (?:matin|jour|soir)))/u,
    say: 'se lève {}',
    maxWords: 8,
  },
  {
    after: /^ (?:me |se )(?<value>(?:lève|couche|réveille) (?:toujours |à |avant |après |vers |tous ).+)/u,
    say: 'se {}',
    holds: /(?:tous les|chaque|toujours)/u,
    maxWords: 9,
  },
  {
    after:
      /^ (?<value>travaille pas (?:le|les) (?:lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?))(?!\p{L})/u,
    say: 'ne {}',
  },
  {
    after: /^ (?:prend|boit) (?:mon |son |le )?(?<value>(?:café|thé) (?:sans|avec|noir|au) ?.*)/u,
    say: 'prend {}',
    topic: 'drinks',
    maxWords: 4,
  },
  {
    after:
      /^ (?:chausse|fait|met) (?<value>du (?:\p{L}|\d)+(?: (?:et )?(?:un|une|deux|trois|quatre|cinq|six|sept|huit|neuf))?)(?=$|[.,!])/u,
    say: 'chausse {}',
    topic: 'size',
    holds: /(?:\d\d|trente|quarante|cinquante)/u,
  },
  {
    after:
      /^ (?<value>(?:va|fait|court|nage|joue|chante|danse|marche|appelle|visite|cuisine|mange|dîne|garde|monte|fréquente) .+)/u,
    say: '{}',
    holds:
      /(?:tous les|toutes les|chaque|(?:une|deux|trois) fois par|le (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) (?:soir|matin|après-midi)|les (?:lundis|mardis|mercredis|jeudis|vendredis|samedis|dimanches))(?!\p{L})/u,
    not: /(?: ce | demain| prochain)/u,
    minWords: 4,
    maxWords: 10,
  },
  { after: /^ (?<value>souffre (?:de |d'|du |des )\p{L}.+)/u, say: '{}', maxWords: 5 },
  {
    after:
      /^ (?:porte|met) (?<value>des (?:lunettes|lentilles|appareils? auditifs?)|un appareil auditif)(?!\p{L})/u,
    say: 'porte {}',
  },
  {
    after: /^ est (?:vraiment )?(?<value>(?:fan|fana|passionnée?) (?:de|du|d'|des) ?.+)/u,
    say: 'est {}',
    maxWords: 4,
  },
  {
    after:
      /^ a (?:plus )?(?:qu'un|qu'une|seulement un|seulement une) (?<value>rein|œil|oeil|bras|main|jambe|poumon)(?!\p{L})/u,
    say: 'n’a qu’un {}',
  },
  {
    after: /^ (?:m'|s')entraîne (?<value>(?:deux|trois|quatre|cinq|six) fois par semaine)/u,
    say: 's’entraîne {}',
  },
  {
    of: /^(?:mère|père|maman|papa|grand-mère|grand-père|mamie|papi|papy|oncle|tante|frère|sœur)$/i,
    after:
      /^ (?:avait|a eu) (?<value>(?:de l'ostéoporose|un cancer|un infarctus|un avc|du diabète|Alzheimer|Parkinson|de l'arthrose|un glaucome))(?!\p{L})/iu,
    say: 'avait {}',
  },
  {
    after:
      /^ (?:travaille|travaillait) (?<value>(?:le (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)|de nuit|le soir)(?: .+)?)/u,
    say: 'travaille {}',
    not: /(?: prochain| cette| ce )/iu,
    maxWords: 5,
  },
  {
    after:
      /^ a (?:eu|décroché|obtenu) (?:le|un) (?:poste|travail|boulot|emploi) (?<value>(?:à|chez|au|dans|de|d') ?.+)/u,
    say: 'a un poste {}',
    topic: 'work',
    maxWords: 5,
  },
  {
    after:
      /^ (?:fais|fait|chausse|porte) du (?<value>(?:trente|quarante|cinquante)(?:[- ]\p{L}+){0,2}|\d\d)(?= ?[.,!]|$| en )/u,
    say: 'fait du {}',
  },
  {
    of: /^groupe$/i,
    after: /^ sanguin est (?<value>(?:A|B|AB|O)(?: (?:positif|négatif|plus|moins))?)(?!\p{L})/iu,
    say: 'sanguin : {}',
  },
  {
    after:
      /^ (?<value>nage|conduis|conduit|fume|cuisine) pas(?!\p{L})(?! (?:ce|cette|aujourd|demain|maintenant|vite|trop))/u,
    say: 'ne {} pas',
  },
  {
    after:
      /^ a (?:eu )?peur (?<value>(?:de l'eau|du vide|du noir|de l'avion|des chiens|des araignées|des serpents|de conduire|des hauteurs|des souris|des aiguilles|de la foule))(?!\p{L})/u,
    say: 'a peur {}',
  },
  {
    of: /^anniversaire$/i,
    after:
      /^ (?:de mariage )?(?:est|tombe) le (?<value>\p{L}+ (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre))/u,
    say: 'est le {}',
    topic: 'day',
  },
  {
    after:
      /^ est (?<value>(?:le|la) (?:plus jeune|plus âgée?|plus vieux|plus vieille|cadette?|benjamine?|aînée?) (?:de|d'une famille de) \p{L}+)/u,
    say: 'est {}',
  },
  { after: /^ élève (?<value>seule? (?:mes|ses|nos) (?:\p{L}+ )?enfants)/u, say: 'élève {}' },
  {
    of: /^(?:fils|fille|mère|père|mari|femme|frère|sœur|compagnon|compagne|copain|copine|nièce|neveu)$/i,
    after:
      /^ (?:aura|va avoir|fête ses|fêtera ses) \p{L}+(?:[- ]\p{L}+)? (?:ans )?le (?<value>\p{L}+ (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre))/u,
    say: 'a son anniversaire le {}',
    topic: 'birthday',
  },
];

const SPANISH_HABITS: readonly Predicate[] = [
  {
    after: /^ vive (?<value>en un[a]? .+|cerca .+|encima .+|enfrente .+|al lado .+)/u,
    say: 'vive {}',
    topic: 'address',
    maxWords: 6,
  },
  { after: /^(?: le)? (?<value>crió en .+)/u, say: 'se {}', topic: 'childhood', maxWords: 7 },
  {
    after: /^ ha dejado (?<value>de (?:fumar|beber|comer .+)|el tabaco|el alcohol)(?!\p{L})/u,
    say: 'ha dejado {}',
    maxWords: 4,
  },
  { after: /^ dejó (?<value>de (?:fumar|beber)|el tabaco|el alcohol)(?!\p{L})/u, say: 'ha dejado {}' },
  {
    after:
      /^ (?<value>toma (?:anticoagulantes|insulina|antidepresivos|cortisona|la píldora|metformina|antihistamínicos|sintrom)(?!\p{L})(?: .+)?)/u,
    say: '{}',
    maxWords: 5,
  },
  {
    after: /^ toma (?:el |mi |su )?(?<value>(?:café|té) (?:sin|con|solo|cortado|descafeinado) ?.*)/u,
    say: 'toma {}',
    topic: 'drinks',
    maxWords: 4,
  },
  {
    after:
      /^ (?:hace|practica) (?<value>(?:yoga|judo|pilates|kárate|natación|escalada|senderismo|boxeo|teatro|surf|cerámica|ciclismo|atletismo|punto|ganchillo|spinning)(?!\p{L})(?: (?:los|todos|cada|dos|desde) .+)?)/u,
    say: 'hace {}',
    maxWords: 6,
  },
  {
    after:
      /^ tiene (?<value>(?:un|una) (?:viej[oa] )?(?:\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?|moto|autocaravana|barco|huerto|jardín|piano|violín|perr[oa]|gat[oa]|tortuga|conejo|loro|novi[oa]|mellizo|gemelo|hipoteca))(?=$|[.,!]| (?:desde|en|que|de)(?!\p{L}))/u,
    say: 'tiene {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?<value>tiene (?:alzhéimer|párkinson|demencia|asma|epilepsia|ciática|reuma|hernia|una hernia|una prótesis .+|colesterol|anemia|psoriasis|la espalda .+|mal la espalda|mal la rodilla)(?!\p{L}))/u,
    say: '{}',
    maxWords: 6,
  },
  {
    after:
      /^ era (?<value>\p{L}+(?:er[oa]|ora?|ist[ao]|ari[oa]|sastre|militar|albañil|dente)(?: de \p{L}+)?)/u,
    say: 'era {}',
    maxWords: 4,
  },
  {
    after:
      /^ es (?<value>(?:voluntari[oa]|tesorer[oa]|president[ea]|secretari[oa]|socio|socia|soci[oa]|entrenadora?|monitora?) (?:en|de|del) .+)/u,
    say: 'es {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?<value>es \p{L}+(?:ólog[oa]|ista|grafo|grafa|terapeuta|técnic[oa]|ador|adora|itor|itora|ent[ea]ro|ter[oa]|ner[oa]|jer[oa]|der[oa]))(?=$|[.,!]| (?:de|del|en|desde)(?!\p{L}))/u,
    say: '{}',
    topic: 'work',
    not: /(?:primer[oa]|verdader[oa]|enter[oa]|soltero|soltera|peor|mejor|moderador)$/u,
  },
  {
    after: /^(?: le)? (?<value>(?:levanta|acuesta|despierta) (?:a|antes|después|sobre|siempre) .+)/u,
    say: 'se {}',
    holds: /(?:todos los|cada|siempre)/u,

    maxWords: 9,
  },
  {
    after:
      /^ (?:calza|usa|gasta) (?:un |una |el |la )?(?<value>(?:talla )?(?:\d\d|treinta|cuarenta|cincuenta)(?: y \p{L}+)?)/u,
    say: 'calza {}',
    topic: 'size',
  },
  {
    after:
      /^ va (?<value>(?:al trabajo|al curro|al laburo|a la oficina|a clase) en \p{L}+|en \p{L}+ (?:al trabajo|al curro|al laburo|a la oficina|a clase))/u,
    say: 'va {}',
  },
  {
    after: /^ lleva (?<value>.{2,20} años .+)/u,
    say: 'lleva {}',
    holds:
      /(?:casad|junt|viviendo|trabajando|aprendiendo|tocando|sin (?:fumar|beber)|jubilad|divorciad|estudiando|jugando|enseñando)/u,
    maxWords: 9,
  },
  {
    after:
      /^ (?<value>(?:va|hace|corre|nada|juega|canta|baila|camina|come|cena|llama|visita|cocina|trabaja|monta|ve|toma) .+)/u,
    say: '{}',
    holds:
      /(?:tod[oa]s l[oa]s|cada|(?:una vez|dos veces|tres veces) (?:a la|por) semana|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos))(?!\p{L})/u,
    not: /(?: hoy| mañana | próxim)/u,
    minWords: 3,
    maxWords: 10,
  },
  {
    after:
      /^ (?<value>no trabaja (?:los|por las) (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos|tardes|mañanas|noches))(?!\p{L})/u,
    say: '{}',
  },
  {
    after: /^ no le gustan? (?<value>.+)/u,
    say: 'no le gusta {}',
    is: /^(?:el|la|los|las) (?:\p{L}+(?: \p{L}+)?)|^(?!esto|eso|nada|que|lo|mucho|es|cómo)\p{L}+r(?: .+)?/u,
    maxWords: 3,
  },
  {
    after:
      /^ (?:está|estamos) (?<value>separad[oa]s?|divorciad[oa]s?|prometid[oa]s?|comprometid[oa]s?|jubilad[oa]s?)(?!\p{L})/u,
    say: 'está {}',
    topic: 'state',
  },
  {
    after:
      /^ (?:solo |sólo )?tiene (?:solo |sólo )?(?<value>un riñón|un ojo|una mano|una pierna|un pulmón|un brazo)(?!\p{L})/u,
    say: 'solo tiene {}',
  },
  {
    after:
      /^ (?:entrena|entreno) (?<value>(?:dos|tres|cuatro|cinco|seis) (?:veces|días) (?:por|a la) semana)/u,
    say: 'entrena {}',
  },
  {
    of: /^(?:madre|padre|mamá|papá|abuela|abuelo|tía|tío|hermana|hermano)$/i,
    after:
      /^ (?:tenía|tuvo) (?<value>(?:un |una )?(?:osteoporosis|cáncer|infarto|ictus|derrame|diabetes|alzheimer|parkinson|glaucoma|artritis))(?!\p{L})/iu,
    say: 'tenía {}',
  },
  {
    after:
      /^ (?:le )?(?:dieron|consiguió|conseguí|ha conseguido|han dado) (?:el|un) (?:puesto|trabajo|empleo) (?<value>(?:en|de|como) .+)/u,
    say: 'tiene un trabajo {}',
    topic: 'work',
    maxWords: 5,
  },
  { after: /^ no (?:tolera|tolero) (?<value>(?:la|el|los|las) \p{L}+)/u, say: 'no tolera {}', maxWords: 2 },
  {
    of: /^grupo$/i,
    after: /^ sanguíneo es (?<value>(?:A|B|AB|O|cero)(?: (?:positivo|negativo))?)(?!\p{L})/iu,
    say: 'sanguíneo: {}',
  },
  {
    after: /^ (?:no sé|no sabe) (?<value>nadar|conducir|manejar|cocinar|montar en bici(?:cleta)?)(?!\p{L})/u,
    say: 'no sabe {}',
  },
  {
    after:
      /^ nunca (?:aprendí|aprendió) a (?<value>nadar|conducir|manejar|cocinar|montar en bici(?:cleta)?)(?!\p{L})/u,
    say: 'nunca aprendió a {}',
  },
  {
    of: /^aniversario$/i,
    after:
      /^ (?:de boda )?(?:es|cae) el (?<value>\p{L}+ de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre))/u,
    say: 'es el {}',
    topic: 'day',
  },
  {
    after: /^ (?:conduce|conduzco|maneja|manejo) (?<value>un \p{Lu}\p{L}+)/u,
    say: 'conduce {}',
    topic: 'vehicle',
  },
  {
    of: /^(?:|mujer|marido|esposa|esposo|madre|padre|hermana|hermano|hija|hijo|novia|novio|pareja|abuela|abuelo)$/i,
    after:
      /^ (?:es|soy) (?<value>(?:matron[oa]|comadrona|bomber[oa]|policía|panader[oa]|carnicer[oa]|fontaner[oa]|electricista|albañil|peluquer[oa]|farmacéutic[oa]|taxista|camioner[oa]|conserje|carter[oa]|jardiner[oa]|sastre|modista|contable|abogad[oa]|juez|jueza|notari[oa]|veterinari[oa]))(?!\p{L})/u,
    say: 'es {}',
    topic: 'work',
  },
  {
    after: /^ (?:es|soy) (?<value>(?:el|la) (?:menor|mayor|mediana|mediano) de \p{L}+(?: herman[oa]s)?)/u,
    say: 'es {}',
  },
  {
    after: /^ no (?:come|como) (?<value>cerdo|carne|pescado|gluten|marisco|huevos|lácteos)(?!\p{L})/u,
    say: 'no come {}',
  },
  {
    after:
      /^ (?:sufre|sufro|padece|padezco) (?:de )?(?<value>migrañas|asma|insomnio|vértigo|alergias|artritis|ansiedad|hipertensión)(?!\p{L})/u,
    say: 'sufre de {}',
  },
  {
    of: /^(?:hijo|hija|madre|padre|marido|mujer|hermano|hermana|novio|novia|sobrino|sobrina|nieto|nieta)$/i,
    after:
      /^ cumple \p{L}+(?: y \p{L}+)?(?: años)? el (?<value>\p{L}+ de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre))/u,
    say: 'cumple años el {}',
    topic: 'birthday',
  },
];

export const HABITS: Readonly<Record<Code, readonly Predicate[]>> = {
  en: ENGLISH_HABITS,
  de: GERMAN_HABITS,
  fr: FRENCH_HABITS,
  es: SPANISH_HABITS,
};
