/** The forms of sentences that state a lasting fact, and how each is noted. */
import type { Code, Grammar, Predicate } from './memory-form.ts';
import { FRENCH_PREDICATES, frenchGrammar } from './memory-forms-french.ts';
import { SPANISH_PREDICATES, spanishGrammar } from './memory-forms-spanish.ts';
import { HABITS } from './memory-habits.ts';

/** A day of the year, or of a month. */
const DAY =
  /(?:January|February|March|April|May|June|July|August|September|October|November|December|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|(?:st|nd|rd|th|ten|sten|ter)(?!\p{L})|\d)/iu;
const OCCUPATION =
  /^(?:an? |the )?(?:\p{L}+ ){0,2}(?:accountant|actor|actress|architect|artist|author|baker|barber|bookkeeper|builder|butcher|carpenter|chef|cleaner|coach|conductor|consultant|cook|dentist|designer|developer|doctor|driver|editor|electrician|engineer|farmer|firefighter|fisherman|florist|gardener|hairdresser|journalist|judge|lawyer|lecturer|leader|librarian|manager|mechanic|midwife|miner|musician|nurse|optician|painter|pharmacist|photographer|physicist|physiotherapist|pilot|plumber|policeman|postman|potter|professor|programmer|psychologist|researcher|sailor|salesman|scientist|secretary|shepherd|soldier|solicitor|surgeon|surveyor|tailor|teacher|therapist|trainer|translator|vet|volunteer|waiter|waitress|welder|writer)(?!\p{L})/iu;
const GERMAN_OCCUPATION =
  /(?:lehrer|arzt|ärztin|ingenieur|bäcker|koch|köchin|anwalt|anwältin|pfleger|schwester|krankenschwester|hebamme|gärtner|tischler|schreiner|maurer|maler|schneider|verkäufer|fahrer|lektor|bibliothekar|journalist|redakteur|entwickler|informatiker|programmierer|architekt|apotheker|mechaniker|elektriker|buchhalter|beamter|beamtin|polizist|feuerwehrmann|musiker|künstler|fotograf|übersetzer|professor|wissenschaftler|physiker|biologe|chemiker|psychologe|therapeut|erzieher|friseur|landwirt|bauer|winzer|förster|imker|pilot|schauspieler|autor|sekretär|kellner|richter|soldat|bergmann|kaufmann|seemann|zimmermann|hausmeister|maurer|klempner|installateur|drucker|optiker|logopäde|ergotherapeut|sozialarbeiter|steuerberater|makler|grafiker|designer|berater|student|rentner)(?:in)?(?!\p{L})/iu;
const CONDITION =
  /^(?:very |badly |a bit |slightly )?(?:dyslexic|diabetic|asthmatic|colou?r[- ]?blind|night[- ]?blind|left[- ]?handed|lactose intolerant|gluten intolerant|coeliac|celiac|asthmatic|hard of hearing|partially sighted|hypermobile|an?aemic|bipolar|teetotal|near[- ]?sighted|epileptic|deaf(?: in one ear)?|autistic|vegan|an? (?:only child|twin|vegetarian|vegan|diabetic|coeliac|teetotaller|widow|widower|night person|morning person|night owl|early riser|night eater))(?!\p{L})/iu;
const MEAT =
  /^(?:schnitzel|steaks?|bacon|sausages?|burgers?|hamburgers?|ribs|meat|chicken|pork|lamb|beef|ham|salami|meatballs|kebabs?|roast)(?!\p{L})/iu;
const DIET = /^(?:an? )?(?:vegetarian|vegan|pescatarian|pescetarian)(?!\p{L})/iu;
const GERMAN_DIET = /^(?:ein |eine )?(?:Vegetarier|Veganer|Pescetarier|vegetarisch|vegan)(?:in)?(?!\p{L})/iu;
const ILLNESS =
  /^(?:chronic |bad |really bad |severe )?(?:asthma|diabetes|migraines?|dementia|alzheimer's|parkinson's|cancer|eczema|psoriasis|co?eliac disease|crohn's|ana?emia|adhd|insomnia|sciatica|osteoporosis|gout|vertigo|epilepsy|hay ?fever|arthritis|high blood pressure|tinnitus|glaucoma|cataracts|type (?:one|two|1|2) diabetes|lupus|endometriosis|multiple sclerosis|an underactive thyroid|sleep apn(?:o)?ea|rheumatism|dyslexia|perfect pitch|absolute pitch|an? [\p{L} ]{3,30} (?:allergy|intolerance))(?!\p{L})/iu;
const FAMILY =
  /^(?:twins(?!\p{L})|triplets(?!\p{L})|(?:two|three|four|five|six|seven|eight|an? older|an? younger|an? little|an? big|twin|one) ?(?:\p{L}+ )?(?:children|kids|stepchildren|sons?|daughters?|brothers?|sisters?|boys|girls|cats|dogs|grandchildren|twins)(?!\p{L}))/iu;
const PLACE =
  /^\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*){0,2}|^(?!hope|fear|harmony|peace|sin|style|luxury|denial|terror)\p{L}[\p{L}'-]*$/u;
const STATE =
  /^(?:married(?: to \p{Lu}\p{L}+)?|divorced|widowed|engaged to \p{Lu}\p{L}+|retired|deaf in one ear|blind in one eye|short[- ]sighted|pregnant|expecting (?:a baby|twins|another)|long[- ]sighted|claustrophobic|teetotal|bilingual|adopted|the (?:oldest|youngest|eldest) of \p{L}+|\p{Lu}\p{Ll}+(?:ish|ese|ian|ean)|Dutch|French|German|Greek|Swiss|Czech|Welsh|Indian|Mexican|American|vegetarian|vegan|pescatarian|Muslim|Catholic|Protestant|Buddhist|Hindu)(?!\p{L})/u;
/** Duration of a state. */
const LASTING =
  /for (?:\p{L}{1,20} ){0,2}(?:years|decades)|since (?:\p{L}{1,20} ){0,2}(?:years|\d{4}|I was \p{L}|nineteen|twenty|school|college|university|childhood)/iu;
const HABITUAL = /always|all my life|ever since|since I was/iu;
/** Frequency of a habit. */
const REGULAR =
  /(?:every (?:day|morning|evening|night|week|weekend|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|summer|winter|year|Christmas|Easter)|(?:on )?(?:Mondays|Tuesdays|Wednesdays|Thursdays|Fridays|Saturdays|Sundays)|(?:once|twice|three times) a (?:week|month|year|day))(?!\p{L})/iu;
const NAME_ALONE = /^\p{Lu}\p{Ll}+$/u;
const GERMAN_STATE =
  /^(?:schwanger|(?:laktose|gluten|fruktose|histamin)intolerant|farbenblind|alleinerziehend|berufstätig|ledig|taub|blind|verheiratet|geschieden|verwitwet|Rentner(?:in)?|pensioniert|in Rente|schwerhörig|kurzsichtig|weitsichtig|schwindelfrei|nicht schwindelfrei|Einzelkind|Zwilling|Legastheniker(?:in)?|Linkshänder(?:in)?|Diabetiker(?:in)?|Asthmatiker(?:in)?|Frühaufsteher(?:in)?|Nachtmensch|Morgenmuffel|trockener Alkoholiker|katholisch|evangelisch)(?!\p{L})/u;
const GERMAN_ILLNESS =
  /^(?:Asthma|Diabetes|Zucker|Migräne|Heuschnupfen|Bluthochdruck|Rheuma|Neurodermitis|Epilepsie|Höhenangst|Flugangst|Platzangst|Arthrose|Gicht|Tinnitus|Zöliakie|Schuppenflechte|Parkinson|Demenz|Alzheimer|Krebs|ADHS|Depressionen|Schlafapnoe|Ekzeme|Reflux|eine Schilddrüsenunterfunktion|einen Herzfehler|einen Bandscheibenvorfall)(?!\p{L})/u;
const GERMAN_REGULAR =
  /(?:jeden (?:Tag|Morgen|Abend|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag|Sommer|Winter)|montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags|einmal (?:in der|die|im) (?:Woche|Monat|Jahr)|zweimal (?:in der|die|im) (?:Woche|Monat))/iu;
const VEHICLE =
  /(?:bike|car|van|bicycle|motorbike|scooter|volvo|subaru|toyota|ford|volkswagen|tesla)(?!\p{L})/iu;
const PEOPLE =
  /^(?:stepmother|stepfather|mother-in-law|father-in-law|brother-in-law|sister-in-law|son-in-law|daughter-in-law|flatmate|roommate|housemate|husband|wife|partner|girlfriend|boyfriend|friend|mate|boss|manager|sister|brother|mother|mum|mom|father|dad|son|daughter|stepson|stepdaughter|grandson|granddaughter|grandmother|grandfather|grandma|grandpa|granddad|gran|aunt|uncle|cousin|niece|nephew|nan|landlord|landlady|neighbour|neighbor|teacher|doctor|dentist|gp|physio|therapist|lawyer|accountant|coach|hairdresser)$/i;
/** The speaker, or people of theirs. */
const PEOPLE_OF =
  /^(?:|husband|wife|partner|mother|mum|mom|father|dad|grandmother|grandfather|grandma|grandpa|gran|aunt|uncle|sister|brother)$/i;
const PARENT =
  /^(?:husband|wife|partner|girlfriend|boyfriend|friend|sister|brother|mother|mum|mom|father|dad|son|daughter|grandmother|grandfather|grandma|grandpa|granddad|gran|nan|aunt|uncle)$/i;
const PET = /^(?:dog|cat|horse|rabbit|parrot|tortoise)$/i;
const LEUTE =
  /^(?:Schwager|Schwägerin|Schwiegermutter|Schwiegervater|Schwiegereltern|Schwiegersohn|Schwiegertochter|Mitbewohner|Mitbewohnerin|Kollege|Kollegin|Hausarzt|Hausärztin|Zahnarzt|Zahnärztin|Lehrer|Lehrerin|Enkel|Enkelin|Cousin|Cousine|Nichte|Neffe|Vermieterin|Eltern|Kinder|Großeltern|Mama|Papa|Mann|Frau|Freund|Freundin|Partner|Partnerin|Chef|Chefin|Schwester|Bruder|Mutter|Vater|Sohn|Tochter|Oma|Opa|Tante|Onkel|Nachbar|Nachbarin|Vermieter|Hund|Katze|Kater|Pferd)$/i;
/** The speaker, or people of theirs. */
const LEUTE_OF =
  /^(?:|Mann|Frau|Partner|Partnerin|Mutter|Vater|Oma|Opa|Tante|Onkel|Schwester|Bruder|Mama|Papa)$/i;
/** People named by their relation to somebody, in either language. */
export const PERSON =
  /^(?:ex|ex-husband|ex-wife|stepdad|stepmum|in-laws|grandad|nana|granny|auntie|youngest|eldest|oldest|godson|goddaughter|twin|boys|girls|Ex|Exmann|Exfrau|Jüngster|Jüngste|Ältester|Älteste|Schwager|Schwägerin|Schwiegermutter|Schwiegervater|Schwiegereltern|Schwiegersohn|Schwiegertochter|Mitbewohner|Mitbewohnerin|Kollege|Kollegin|stepmother|stepfather|mother-in-law|father-in-law|brother-in-law|sister-in-law|son-in-law|daughter-in-law|flatmate|roommate|housemate|friend|mate|manager|stepson|stepdaughter|grandson|granddaughter|grandma|grandpa|cousin|niece|nephew|parents|kids|children|grandparents|sons|daughters|Eltern|Kinder|Großeltern|Mama|Papa|Enkel|Enkelin|Cousin|Cousine|Nichte|Neffe|husband|wife|partner|girlfriend|boyfriend|sister|brother|mother|mum|mom|father|dad|son|daughter|grandmother|grandfather|granddad|gran|aunt|uncle|nan|boss|neighbour|Mann|Frau|Freund|Freundin|Partner|Partnerin|Chef|Chefin|Schwester|Bruder|Mutter|Vater|Sohn|Tochter|Oma|Opa|Tante|Onkel|Nachbar|Nachbarin)$/i;
/** Several people, or several of something. */
export const SEVERAL =
  /^(?:parents|kids|children|grandparents|sons|daughters|Eltern|Kinder|Großeltern|enfants|filles|padres|hijos|hijas|hermanos|abuelos)$/i;
const NAME = /^\p{Lu}/u;
const CHILD = /^(?:son|daughter|stepson|stepdaughter|grandson|granddaughter|niece|nephew)$/i;
const KIND = /^(?:Sohn|Tochter|Enkel|Enkelin|Neffe|Nichte)$/i;
const WORKPLACE =
  /(?<!\p{L})(?:bank|hospital|school|nursery|university|office|lab|laboratory|shop|supermarket|restaurant|bakery|kitchen|factory|warehouse|garage|library|museum|pharmacy|theatre|clinic|practice|hotel|prison|court|town hall|ministry|sales|marketing|finance|IT|law|publishing|construction|insurance|advertising|logistics|education|accounting|HR|film|television|retail|tourism|healthcare|the civil service|the city)(?!\p{L})/u;
const MEDICINE =
  /^(?:blood pressure|heart|thyroid|sleeping|iron|water) (?:pills|tablets|medication|medicine)|^(?:insulin|warfarin|metformin|statins|antidepressants|blood thinners|antihistamines|the pill)(?!\p{L})/iu;
const OCCASION =
  /^(?:an? )?(?:heart attack|stroke|hip replacement|hip replaced|knee replaced|knee replacement|bypass|kidney transplant|liver transplant|miscarriage|appendix out|tonsils out|brain tumou?r|breast cancer)(?!\p{L})/iu;

const LASTING_OFTEN = /(?:every|most|each) (?:week|month|day|weekend)|all the time|a lot/iu;

const ENGLISH_PREDICATES: readonly Predicate[] = [
  {
    of: PERSON,
    after: /^(?:'s| is) in (?<value>an? (?:care|nursing|retirement) home(?: in \p{Lu}\p{L}+)?)/u,
    say: 'is in {}',
    maxWords: 6,
  },
  { after: /^ (?:live|lives) (?<value>just outside \p{Lu}.+)/u, say: 'lives {}', maxWords: 4 },
  {
    after: /^ (?:don't|doesn't|do not|does not) (?<value>drive|smoke)(?= ?[.,!]|$)/u,
    say: 'does not {}',
    maxWords: 1,
  },
  {
    after: /^ (?:live|lives|am living|are living|is living) (?:now )?in (?<value>.+)/u,
    say: 'lives in {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    after: /^ (?:have |has )?moved (?:away )?to (?<value>\p{Lu}.+)/u,
    say: 'lives in {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    after: /^ have been (?:living )?in (?<value>\p{Lu}\p{L}+) (?:for|since) /u,
    say: 'lives in {}',
    topic: 'home',
  },
  { after: /^ (?:do not|does not) even own (?<value>an? \p{L}+)/u, say: 'does not own {}' },
  {
    after: /^ (?:travel|travels) (?<value>(?:for work|abroad) .+)/u,
    say: 'travels {}',
    holds: LASTING_OFTEN,
    maxWords: 5,
  },
  { after: /^ (?:come|comes) out in \p{L}+ (?:with|from) (?<value>\p{L}+)/u, say: 'is allergic to {}' },
  {
    after: /^ (?:speak|speaks) (?:a (?:bit|little) (?:of )?|some )(?<value>\p{Lu}\p{L}+)/u,
    say: 'speaks some {}',
  },
  { after: /^ grew up (?<value>(?:in|on|near|by|with) .+)/u, say: 'grew up {}', topic: 'childhood' },
  { after: /^ (?:was|were) born (?<value>(?:in|on) .+)/u, say: 'was born {}', topic: 'birth', maxWords: 5 },
  {
    after: /^ (?:am|are|is|come|comes) (?:originally )?from (?<value>\p{Lu}.+)/u,
    say: 'is from {}',
    topic: 'origin',
    is: PLACE,
    maxWords: 3,
  },

  { after: /^ (?:work|works) (?<value>as .+)/u, say: 'works {}', topic: 'work' },
  { after: /^ (?:work|works) (?<value>(?:at|for) .+)/u, say: 'works {}', topic: 'employer' },
  {
    after: /^ (?:am|are|is|have been|has been) (?<value>an? .+)/u,
    say: 'is {}',
    topic: 'work',
    is: OCCUPATION,
  },
  { after: /^ (?:teach|teaches) (?<value>.+)/u, say: 'teaches {}', topic: 'work', maxWords: 1 },
  {
    after: /^ (?:drive|drives) (?<value>an? (?:taxi|bus|lorry|truck|tram|train) .+)/u,
    say: 'drives {}',
    topic: 'work',
    maxWords: 4,
  },
  { after: /^ was (?<value>an? .+ for \p{L}+ years)/u, say: 'was {}' },
  {
    after: /^ (?:study|studies) (?<value>(?!for |the |it|that|my )\p{L}.+)/u,
    say: 'studies {}',
    topic: 'studies',
    maxWords: 3,
  },

  {
    after:
      /^ (?:am|are|is) (?:very |badly )?allergic to (?<value>(?!nonsense|meetings|mondays|mornings|work|exercise|people|you|him|her|commitment|cleaning|stupid)\p{L}.+)/iu,
    say: 'is allergic to {}',
    maxWords: 3,
  },
  { after: /^ (?:am|are|is) (?<value>.+)/u, say: 'is {}', topic: 'diet', is: DIET, maxWords: 2 },
  { after: /^ (?:am|are|is) (?<value>.+)/u, say: 'is {}', is: CONDITION, maxWords: 4 },
  { after: /^ (?:have|has)(?: got| had)? (?<value>.+)/u, say: 'has {}', is: ILLNESS, maxWords: 4 },
  { after: /^ (?:have|has|'ve)(?: got)? (?<value>.+)/u, say: 'has {}', is: FAMILY, maxWords: 4 },
  {
    after:
      /^ (?:do not|does not|never) eat (?:any )?(?<value>(?:red )?(?:meat|fish|animals|animal products))(?!\p{L})/u,
    say: 'does not eat {}',
    topic: 'diet',
  },
  {
    after: /^ (?:do not|does not|never) eat (?<value>.+)/u,
    say: 'does not eat {}',
    maxWords: 2,
  },
  { after: /^ eat (?<value>fish again.*|fish but.*)/u, say: 'eats {}', topic: 'diet', maxWords: 6 },
  {
    after: /^ (?:do not|does not|never) drink(?: any)? (?<value>alcohol|wine|beer|coffee|milk)/u,
    say: 'does not drink {}',
  },
  { after: /^ (?:do not|does not|never) (?<value>smoke|drink)(?:$|[.,!]| any)/u, say: 'does not {}' },
  { after: /^ only drink (?<value>.+)/u, say: 'only drinks {}', topic: 'drinks', maxWords: 2 },
  {
    after: /^ drink (?<value>nothing (?:else )?(?:but|except) .+)/u,
    say: 'drinks {}',
    topic: 'drinks',
    maxWords: 5,
  },
  {
    after: /^ (?:could eat|can eat|love|loves|live on|lives on) (?<value>\p{L}+)/u,
    say: 'loves {}',
    topic: 'diet',
    is: MEAT,
  },
  { after: /^ cannot stand (?<value>.+)/u, say: "can't stand {}", maxWords: 3 },
  {
    after: /^ (?:love|loves) (?<value>(?!to |the way|my |your |his |her |a )\p{L}.+)/u,
    say: 'loves {}',
    maxWords: 3,
  },
  {
    after:
      /^ (?:hate|hates) (?<value>(?!to |the way|my |your |his |her |the |a )\p{L}.+ always (?:have|has))/u,
    say: 'hates {}',
    maxWords: 3,
  },
  { after: /^ cannot (?<value>(?!stand).+) (?:and )?I never could/u, say: "can't {}", maxWords: 5 },
  { after: /^ can only (?<value>\p{L}+ (?:by|with|in) .+)/u, say: 'can only {}', maxWords: 5 },
  { after: /^ only (?<value>(?:read|speak|write|know) .+) properly/u, say: 'only {} properly', maxWords: 4 },

  {
    after:
      /^ (?:play|plays) (?<value>the (?!first|second|third|last|next|same|part|song|game|piece|fool|music|video|role|tape|other|whole)\p{L}+|tennis|football|chess|golf|hockey|badminton|rugby|basketball)/u,
    say: 'plays {}',
    maxWords: 3,
  },
  {
    after: /^ (?:am|are|is|have been) learning (?<value>(?!to |how |a lot|about )\p{L}.+)/u,
    say: 'is learning {}',
    maxWords: 1,
  },
  { after: /^ (?:speak|speaks) (?<value>\p{Lu}\p{L}+(?: and \p{Lu}\p{L}+)?)/u, say: 'speaks {}' },
  { after: /^ (?:collect|collects) (?<value>.+)/u, say: 'collects {}', maxWords: 3 },
  { after: /^ (?:sing|sings) (?<value>(?:in|with) .+)/u, say: 'sings {}', maxWords: 4 },
  {
    after: /^ (?:am|is|are) seeing (?<value>an? (?:therapist|psychologist|counsellor|physio).*)/u,
    say: 'sees {}',
    maxWords: 8,
  },
  {
    after: /^ have my (?<value>(?:therapist|physio|choir|band|lesson|language class) on \p{Lu}\p{L}+days)/u,
    say: 'has a {}',
  },
  { after: /^ (?:am|is|are|have been|has been) (?:still )?in debt/u, say: 'is in debt' },
  {
    after: /^ (?:have|has)(?: got)? (?<value>an? .+ now.*)/u,
    say: 'has {}',
    topic: 'vehicle',
    holds: VEHICLE,
    maxWords: 8,
  },
  {
    after: /^ have had (?:that|this|the|my) (?<value>\p{Lu}\p{L}+ for \p{L}+ years)/u,
    say: 'has had a {}',
    topic: 'vehicle',
  },

  {
    after:
      /^ (?:have|has) (?<value>(?:been|lived|worked|taught|played|sung|run|owned|collected|kept|studied|done|driven|had) .+ (?:for|since) .+)/u,
    say: 'has {}',
    holds: LASTING,
    maxWords: 12,
  },
  { after: /^ was (?:born and )?(?<value>raised in .+)/u, say: 'was {}', topic: 'childhood', maxWords: 4 },
  { after: /^ (?:am|are|is) (?<value>(?:half|part) \p{Lu}\p{L}+)/u, say: 'is {}' },
  { after: /^ (?:am|are|is) (?<value>.+)/u, say: 'is {}', topic: 'state', is: STATE, maxWords: 4 },
  {
    after:
      /^ (?:am|are|is) (?:studying|doing a degree in) (?<value>(?!the |my |your |this |for |it|that)\p{L}.+)/u,
    say: 'studies {}',
    topic: 'studies',
    maxWords: 4,
  },
  { after: /^ (?:am|are|is) training (?<value>(?:to be|as) an? .+)/u, say: 'is training {}', maxWords: 5 },
  {
    after: /^ (?:am|are|is) (?<value>(?:afraid|scared|frightened|terrified) of .+)/u,
    say: 'is {}',
    maxWords: 4,
  },
  {
    after: /^ (?:am|are|is) (?<value>(?:hopeless|terrible|bad|good|no good|useless) (?:at|with) .+)/u,
    say: 'is {}',
    maxWords: 4,
  },
  { after: /^ (?:am|are|is) (?<value>an? (?:member|fan|supporter) of .+)/u, say: 'is {}', maxWords: 7 },
  {
    after:
      /^ (?:am|are|is) (?:not )?(?<value>(?:into|crazy about|addicted to|fond of) (?!the |my |your |this |that |it)\p{L}.+)/u,
    say: 'is {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?:have|has)(?: got)? (?<value>(?:an? )?(?:pacemaker|hearing aid|phobia of .+|fear of .+|sweet tooth|bad (?:back|knee|hip|heart|shoulder)|heart condition|weak heart|artificial hip|metal plate .+))/u,
    say: 'has {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:have|has)(?: got)? (?<value>an? (?:\p{L}+ )?(?:brother|sister|son|daughter|dog|cat|horse|allotment|cottage|caravan|boat|twin|stepson|stepdaughter|grandson|granddaughter|puppy|parrot|tortoise|rabbit|hamster)(?: (?:called|named|in|who) .+)?)/u,
    say: 'has {}',
    maxWords: 8,
  },
  {
    after:
      /^ (?:wear|wears) (?<value>(?:glasses|contact lenses|hearing aids?|an? (?:hearing aid|brace|wig)))/u,
    say: 'wears {}',
  },
  {
    after: /^ (?:take|takes) (?<value>\p{L}+ (?:for|against) (?:my|her|his|the) .+)/u,
    say: 'takes {}',
    maxWords: 5,
  },
  {
    after:
      /^ (?:do not|does not) (?<value>(?:eat|drink|like|drive|fly|speak|own|wear|take|celebrate)(?: any)? (?!and |it|that|this|the |any|how|to |your|my|when|you|me)\p{L}.+)/u,
    say: 'does not {}',
    maxWords: 3,
  },
  {
    after: /^ never (?<value>(?:eat|drink|drive|fly|take|use|wear) (?!it|that|this)\p{L}.+)/u,
    say: 'never {}s',
    maxWords: 4,
  },
  {
    after:
      /^ (?:cannot|could never) (?<value>(?:eat|drink|digest|tolerate|smell|bear|swim|drive|ride|whistle|cook|sing|read music)(?:$| (?!it|that|this|you|there|now|him|her|home|and|the |another|any more|all)\p{L}.*))/u,
    say: "can't {}",
    maxWords: 4,
  },
  {
    after:
      /^ (?:gave up|quit|stopped) (?<value>(?:smoking|drinking|meat|alcohol|coffee|sugar|gluten|dairy|eating meat)(?!\p{L}))/u,
    say: 'gave up {}',
  },
  {
    after:
      /^ (?:hate|hates|dislike|dislikes|detest|detests|loathe|loathes) (?<value>(?!it|that|this|to |the |my |your |his |her |a |when|how|you|him|them|being)\p{L}.+)/u,
    say: 'dislikes {}',
    holds: HABITUAL,
    maxWords: 5,
  },
  {
    after: /^ (?:prefer|prefers) (?<value>(?!it|that|this|to |the )\p{L}.+)/u,
    say: 'prefers {}',
    maxWords: 5,
  },
  {
    after:
      /^ (?:adore|adores|enjoy|enjoys) (?<value>(?!it|that|this|to |the |my |your |his |her |a |every)\p{L}.+)/u,
    say: 'enjoys {}',
    maxWords: 4,
  },
  { after: /^ (?:support|supports) (?<value>\p{Lu}\p{L}+)/u, say: 'supports {}' },
  { after: /^ (?:speak|speaks) (?<value>(?:fluent |a little |some |no )\p{Lu}\p{L}+)/u, say: 'speaks {}' },
  {
    after:
      /^ (?:run|runs) (?<value>an? (?:\p{L}+ )?(?:shop|bakery|cafe|café|restaurant|company|business|farm|studio|school|garage|pub|hotel|practice|workshop|boat|horse|house|flat)(?: .+)?)/u,
    say: 'runs {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:own|owns) (?<value>an? (?:\p{L}+ )?(?:shop|bakery|cafe|café|restaurant|company|business|farm|studio|school|garage|pub|hotel|practice|workshop|boat|horse|house|flat)(?: .+)?)/u,
    say: 'owns {}',
    maxWords: 6,
  },
  { after: /^ (?:volunteer|volunteers) (?<value>(?:at|for|with|in) .+)/u, say: 'volunteers {}', maxWords: 6 },
  { after: /^ (?:coach|coaches) (?<value>the .+)/u, say: 'coaches {}', maxWords: 5 },
  {
    after: /^ (?:drive|drives) (?<value>an? (?:old |little )?(?:\p{Lu}\p{L}+|van|motorbike|pickup))/u,
    say: 'drives {}',
    topic: 'vehicle',
  },
  {
    after:
      /^ (?<value>(?!(?:go|goes|do|does|meet|meets|train|trains|play|plays|visit|visits) (?:there |it |that )?(?:on |every |once |twice )?(?:\p{Lu}\p{L}+days?|\p{L}+ a \p{L}+|\p{L}+)$)(?:go|goes|swim|swims|run|runs|sing|sings|dance|dances|row|rows|cycle|cycles|walk|walks|train|trains|do|does|practise|practises|play|plays|meet|meets|visit|visits) .+)/u,
    say: '{}',
    isVerb: true,
    holds: REGULAR,
    maxWords: 10,
  },
  {
    of: PEOPLE,
    after: /^ (?<value>(?!Mrs? |Ms |Dr |Doctor |Mon|Tue|Wed|Thu|Fri|Sat|Sun|I )\p{Lu}\p{L}+)/u,
    say: 'is called {}',
    is: NAME_ALONE,
    maxWords: 1,
  },
  { of: PEOPLE, after: /^ (?<value>(?:Mr|Mrs|Ms|Dr|Doctor) \p{Lu}\p{L}+)/u, say: 'is called {}' },
  { of: PEOPLE, after: /^ is name is (?<value>\p{Lu}\p{L}+)/u, say: 'is called {}', maxWords: 1 },
  {
    of: /^favou?rite$/i,
    after: /^ (?<value>(?!part|bit|moment|thing|one|kind)\p{L}+ is .+)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:do not|does not) (?<value>have (?:an? )?(?:car|television|telly|tv|smartphone|dog|cat|kids|children|siblings|brothers|sisters|driving licen[cs]e|garden|pets|sweet tooth|sense of smell)(?!\p{L}))/u,
    say: 'does not {}',
  },
  {
    after: /^ have never (?<value>(?:learned|learnt|had a|owned|smoked|drunk|driven|liked|eaten) .+)/u,
    say: 'has never {}',
    maxWords: 5,
  },
  {
    after:
      /^ (?:am|are|is) (?<value>the (?:(?:oldest|youngest|eldest|middle) (?:child|one|of \p{L}+|daughter|son|girl|boy)|only (?:child|daughter|son|girl|boy))(?!\p{L}))/u,
    say: 'is {}',
  },
  {
    after:
      /^ (?:get|gets) (?:\p{L}+ly |so |really )?(?<value>(?:sea ?sick|car ?sick|travel ?sick|homesick|migraines|hay ?fever|nosebleeds|vertigo)(?!\p{L}))/u,
    say: 'gets {}',
  },
  {
    after:
      /^ (?:take|takes|drink|drinks|have|has) (?:my |her |his )(?<value>(?:coffee|tea|steak|eggs) (?:with|without|black|white|rare) ?.*)/u,
    say: 'takes {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?:have|has) always (?<value>(?:been|had|wanted|liked|loved|hated|lived|worked|slept|worn|played|kept) .+)/u,
    say: 'has always {}',
    maxWords: 6,
  },
  {
    after: /^ was (?<value>(?:an? |the )\p{L}.+ (?:for \p{L}+ years|until .+|all my life))/u,
    say: 'was {}',
    maxWords: 10,
  },
  {
    after: /^ (?:work|works) in (?<value>.+)/u,
    say: 'works in {}',
    topic: 'employer',
    holds: WORKPLACE,
    maxWords: 5,
  },
  {
    after: /^ (?:am|is) working (?<value>(?:at|for) \p{Lu}.+)/u,
    say: 'works {}',
    topic: 'employer',
    maxWords: 4,
  },
  {
    after: /^ (?:work|works) (?<value>(?:nights|shifts|part time|freelance|from home)(?!\p{L}))/u,
    say: 'works {}',
  },
  {
    after:
      /^ (?:only )?(?:work|works) (?:only )?(?<value>(?:one|two|three|four|five|\d) (?:days|mornings|nights|evenings) a week)/u,
    say: 'works {}',
  },
  {
    after: /^ (?:have |has )?retired(?!\p{L}| (?:from the race|to bed))/u,
    say: 'is retired',
    topic: 'state',
  },
  {
    after:
      /^ (?:have |has )?joined (?<value>(?:the |an? |our |my )?(?:\p{L}+ ){0,2}(?:club|choir|band|gym|team|orchestra|society|church|union|party|class|group)(?!\p{L}))/u,
    say: 'has joined {}',
  },
  { after: /^ (?:have |has )?(?:taken|took) up (?<value>\p{L}+)/u, say: 'has taken up {}' },
  {
    after:
      /^ (?:have |has )?(?:started|been) (?:taking|doing|going to) (?<value>(?:evening |night )?(?:classes|lessons) in \p{L}+|(?:\p{L}+ ){1,2}(?:classes|lessons))/u,
    say: 'takes {}',
  },
  {
    after: /^ (?:do|does) (?:quite )?(?:a lot of|lots of) (?<value>\p{L}+ing)(?!\p{L})/u,
    say: 'does a lot of {}',
  },
  {
    after:
      /^ (?:am|are|is) in (?<value>(?:banking|finance|insurance|teaching|nursing|sales|marketing|publishing|advertising|construction|logistics|recruitment|catering|retail|IT|HR|tech|the (?:army|navy|police|air force|civil service|fire brigade))(?!\p{L}))/u,
    say: 'works in {}',
    topic: 'employer',
  },
  {
    of: PEOPLE_OF,
    after:
      /^ (?:am|are|is) (?<value>(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|[2-9]\d)(?= years old| now(?!\p{L})|$|[.,!])/u,
    say: 'is {} years old',
    topic: 'age',
  },
  {
    of: /^(?:parents|grandparents|mother|father|mum|mom|dad|grandmother|grandfather|grandma|grandpa|gran)$/i,
    after: /^ (?:came|come|comes|moved|emigrated) (?:over )?(?:here )?from (?<value>\p{Lu}\p{L}+)/u,
    say: 'comes from {}',
    topic: 'origin',
  },
  { after: /^ never (?:work|works) (?<value>on \p{Lu}\p{L}+days)/u, say: 'never works {}' },
  { after: /^ (?:take|takes|am on|is on) (?<value>.+)/u, say: 'takes {}', is: MEDICINE, maxWords: 3 },
  {
    after: /^ (?:am|is|are) on (?<value>an? (?:[\p{L}-]+ ){0,3}diet(?!\p{L}))/u,
    say: 'is on {}',
    topic: 'diet',
  },
  {
    after: /^ (?:had|have had|has had) (?:my |his |her )?(?<value>.+)/u,
    say: 'had {}',
    is: OCCASION,
    maxWords: 3,
  },
  {
    after:
      /^ (?:became|turned|went|have been|has been) (?<value>(?:an? )?(?:vegetarian|vegan|pescatarian|teetotal|sober))(?!\p{L})/u,
    say: 'is {}',
    topic: 'diet',
  },
  {
    after: /^ used to smoke|^ (?:do not|does not) smoke any ?more/u,
    say: 'no longer smokes',
    topic: 'smoking',
  },
  { after: /^ (?:run|runs) (?<value>(?:half |ultra )?marathons)/u, say: 'runs {}' },
  {
    after:
      /^ (?:play|plays) in (?<value>(?:an?|the) (?:\p{L}+ ){0,2}(?:band|orchestra|quartet|team|league|ensemble)(?!\p{L}))/u,
    say: 'plays in {}',
  },
  {
    after: /^ (?:live|lives) (?<value>alone|by myself|on my own|with my \p{L}+)/u,
    say: 'lives {}',
    maxWords: 3,
  },
  {
    after:
      /^ (?:live|lives) (?<value>(?:on|in|at) (?:\p{L}+ ){0,2}\p{Lu}\p{L}+ (?:Street|Road|Avenue|Lane|Square|Drive|Terrace|Way))/u,
    say: 'lives {}',
    topic: 'address',
  },
  {
    after: /^ (?:have lived|has lived) in (?<value>\p{Lu}\p{L}+) all /u,
    say: 'lives in {}',
    topic: 'home',
  },
  {
    after:
      /^ (?:have|has|own|owns|bought|have bought)(?: got)? (?<value>an? (?:\p{L}+ )?(?:house|flat|cottage|cabin|apartment|place|home) in (?:the )?\p{Lu}\p{L}+)/u,
    say: 'has {}',
  },
  {
    after: /^ studied (?<value>\p{L}+(?: \p{L}+)?(?: (?:at|in) \p{Lu}\p{L}+)?)/u,
    say: 'studied {}',
    topic: 'studies',
    holds:
      /^(?:\p{L}+(?:ics|ogy|istry|ory|phy|ing|ture|ology)|law|medicine|art|music|French|German|English|Spanish|economics)(?!\p{L})/u,
    maxWords: 4,
  },
  {
    after:
      /^ (?:am|is|are) from (?<value>an? (?:\p{L}+ )?(?:village|town|city|island|farm) (?:in|near|on|outside) \p{Lu}\p{L}+)/u,
    say: 'is from {}',
    topic: 'origin',
  },
  {
    after: /^ (?:am|is) not (?<value>an? (?:morning|night|dog|cat|people|coffee|tea) person)/u,
    say: 'is not {}',
  },
  { after: /^ (?:got married|married) in (?<value>\d{4})(?!\d)/u, say: 'married in {}', topic: 'wedding' },
  { after: /^ (?:bank|banks) with (?<value>\p{Lu}.+)/u, say: 'banks with {}', maxWords: 2 },
  {
    after:
      /^ (?:go|goes) to (?<value>(?:an? |the )?(?:\p{L}+ ){0,2}(?:school|college|university|nursery|kindergarten|church|mosque|synagogue))(?!\p{L})/u,
    say: 'goes to {}',
    topic: 'school',
    holds: /^(?:an? |the )?(?:\p{Lu}|university|college|nursery|kindergarten|church|mosque|synagogue)/u,
  },
  { of: PARENT, after: /^ (?:died|has died|passed away)(?!\p{L})/u, say: 'died', topic: 'life' },
  {
    of: CHILD,
    after:
      /^ is (?:now |already )?(?<value>(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|\d\d?))(?: years old| now| already|$|[,.!])/u,
    say: 'is {} years old',
    topic: 'age',
  },
  {
    of: /^mother$/i,
    after: /^ tongue is (?<value>\p{Lu}\p{L}+)/u,
    say: 'tongue is {}',
    topic: 'language',
  },
  {
    of: /^(?:doctor|dentist|gp|physio|therapist|lawyer|accountant|coach|teacher|landlord|landlady|hairdresser|manager)$/i,
    after: /^ is (?:called )?(?<value>(?:Mr |Mrs |Ms |Dr |Doctor )?\p{Lu}\p{L}+)/u,
    say: 'is called {}',
    topic: 'name',
  },
  { of: PET, after: /^ is name is (?<value>\p{Lu}\p{L}+)/u, say: 'is called {}', topic: 'name' },
  {
    of: /^birthday$/i,
    after: /^ is in (?<value>\p{Lu}\p{L}+)/u,
    say: 'is in {}',
    topic: 'day',
    holds: DAY,
  },
  {
    of: /^birthday$/i,
    after: /^ is (?:on )?(?<value>.+)/u,
    say: 'is on {}',
    topic: 'day',
    holds: DAY,
    maxWords: 4,
  },
  {
    of: /^boss$/i,
    after: /^ is (?:called )?(?<value>\p{Lu}.+)/u,
    say: 'is called {}',
    topic: 'name',
    holds: NAME,
    maxWords: 2,
  },
  {
    of: /^(?:husband|wife)$/i,
    after: /^ is called (?<value>.+)/u,
    say: 'is called {}',
    topic: 'name',
    holds: NAME,
    maxWords: 2,
  },
  {
    of: /^(?:husband|wife)$/i,
    after: /^ (?<value>\p{Lu}\p{L}+)/u,
    say: 'is called {}',
    topic: 'name',
    holds: NAME,
    maxWords: 1,
  },
  { of: PEOPLE, after: /^ is called (?<value>.+)/u, say: 'is called {}', holds: NAME, maxWords: 2 },
  { of: PARENT, after: /^ was (?<value>an? .+|the last .+)/u, say: 'was {}', is: OCCUPATION, maxWords: 6 },
  {
    of: PET,
    after: /^ is called (?<value>.+)/u,
    say: 'is called {}',
    topic: 'name',
    holds: NAME,
    maxWords: 1,
  },
];

const GERMAN_PREDICATES: readonly Predicate[] = [
  {
    after:
      /^ (?:wohne|wohnt|wohnen) (?<value>(?:in|an) de[rm] \p{Lu}\p{L}*(?:straße|gasse|weg|platz|allee))/u,
    say: 'wohnt {}',
    topic: 'address',
  },
  {
    after:
      /^ (?:wohne|wohnen|wohnst|wohnt|lebe|leben|lebst|lebt) (?:(?:jetzt|schon|ewig|immer|noch|ja|eh|auch|mittlerweile|inzwischen) ){0,3}in (?<value>.+)/u,
    say: 'wohnt in {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  { after: /^ (?:trainiere|coache|leite) (?<value>(?:die|den|das) .+)/u, say: 'trainiert {}', maxWords: 4 },
  {
    of: LEUTE,
    after: /^ (?:wohnt|lebt|ist) (?<value>im (?:Pflegeheim|Altersheim|Seniorenheim|Heim|Hospiz))/u,
    say: 'wohnt {}',
  },
  {
    after:
      /^ (?:bin|ist|sind) (?:schon|jetzt|bereits|inzwischen) (?<value>in Rente|im Ruhestand|pensioniert)/u,
    say: 'ist {}',
    topic: 'state',
  },
  { after: /^ ziehe aus (?<value>\p{Lu}\p{L}+) weg/u, say: 'wohnt in {}', topic: 'home' },
  { after: /^ (?:bin|sind|ist) nach (?<value>\p{Lu}\p{L}+) gezogen/u, say: 'wohnt in {}', topic: 'home' },
  {
    after: /^ (?:komme|kommt) aus (?<value>\p{Lu}.+)/u,
    say: 'kommt aus {}',
    topic: 'origin',
    is: PLACE,
    maxWords: 3,
  },
  { after: /^ (?:bin|ist) (?<value>in \p{L}.+ (?:aufgewachsen|geboren))/u, say: 'ist {}', maxWords: 6 },
  {
    after: /^ (?:arbeite|arbeitet) (?<value>(?:als|bei|beim|in der|im) .+)/u,
    say: 'arbeitet {}',
    topic: 'work',
    maxWords: 6,
  },
  {
    after: /^ (?:bin|ist) (?<value>(?!bei|beim|zum|zur|im|vom|von|am|kein)\p{L}.+)/u,
    say: 'ist {}',
    topic: 'work',
    holds: GERMAN_OCCUPATION,
    maxWords: 2,
  },
  {
    after: /^ (?:studiere|studiert) (?<value>(?!ab |seit ).+)/u,
    say: 'studiert {}',
    topic: 'studies',
    maxWords: 2,
  },
  {
    after:
      /^ (?:bin|bist|ist) (?:\p{L}+ )?allergisch (?<value>(?:gegen|auf) (?!Montage|Arbeit|Sport|Leute|Stress|dumme|Dummheit).+)/u,
    say: 'ist allergisch {}',
    maxWords: 4,
  },
  {
    after: /^ (?:habe|hat|hab) eine (?<value>\p{L}+(?:allergie|intoleranz|unverträglichkeit))/u,
    say: 'hat eine {}',
  },
  {
    after: /^ (?:vertrage|verträgt|vertrag) (?:ja )?(?<value>kein\p{L}* .+)/u,
    say: 'verträgt {}',
    maxWords: 3,
  },
  { after: /^ (?:bin|ist) (?<value>.+)/u, say: 'ist {}', topic: 'diet', is: GERMAN_DIET, maxWords: 2 },
  {
    after: /^ (?:esse|isst) (?:gar )?(?<value>kein\p{L}* (?:Fleisch|Fisch|Tiere))(?!\p{L})/u,
    say: 'isst {}',
    topic: 'diet',
  },
  { after: /^ (?:esse|isst) (?:gar )?(?<value>kein\p{L}* .+)/u, say: 'isst {}', maxWords: 2 },
  {
    after: /^ (?:trinke|trinkt) (?:gar )?(?<value>kein\p{L}* (?:Alkohol|Kaffee|Milch|Bier|Wein))/u,
    say: 'trinkt {}',
  },
  {
    after: /^ (?:trinke|trinkt) nur (?<value>(?!aus|noch|schnell|kurz).+)/u,
    say: 'trinkt nur {}',
    topic: 'drinks',
    maxWords: 2,
  },
  { after: /^ (?:mag|mochte noch nie) (?<value>kein\p{L}* .+)/u, say: 'mag {}', maxWords: 2 },
  { after: /^ (?:liebe|liebt) (?<value>\p{Lu}\p{L}+)/u, say: 'liebt {}' },
  {
    after:
      /^ (?:spiele|spielt) (?:seit .{3,20} )?(?<value>Klarinette|Saxofon|Saxophon|Posaune|Horn|Harfe|Akkordeon|Kontrabass|Oboe|Volleyball|Golf|Hockey|Klavier|Geige|Bratsche|Gitarre|Cello|Flöte|Trompete|Orgel|Schlagzeug|Fußball|Tennis|Handball|Schach)/u,
    say: 'spielt {}',
  },
  {
    after:
      /^ (?:lerne|lernt) (?:gerade |jetzt )?(?<value>Spanisch|Englisch|Französisch|Italienisch|Portugiesisch|Polnisch|Russisch|Türkisch|Chinesisch|Japanisch|Deutsch|\p{L}+isch|Klavier|Geige|Gitarre)/u,
    say: 'lernt {}',
  },
  { after: /^ (?:spreche|spricht) (?<value>\p{Lu}\p{L}+isch(?: und \p{Lu}\p{L}+isch)?)/u, say: 'spricht {}' },
  { after: /^ (?:sammle|sammelt) (?<value>.+)/u, say: 'sammelt {}', maxWords: 2 },
  {
    after:
      /^ (?:habe|hab|haben|hat) (?<value>(?:zwei|drei|vier|fünf|sechs) (?:\p{L}+ )?(?:Kinder|Söhne|Töchter|Brüder|Schwestern|Geschwister|Katzen|Hunde|Enkel))/u,
    say: 'hat {}',
  },
  {
    after: /^ (?:habe|hab|hat) am (?<value>.+) Geburtstag/u,
    say: 'hat am {} Geburtstag',
    topic: 'day',
    holds: DAY,
    maxWords: 3,
  },
  {
    after:
      /^ (?:bin|ist) (?<value>Linkshänderin|Linkshänder|Legasthenikerin|Legastheniker|Diabetikerin|Diabetiker|Asthmatikerin|Asthmatiker|Rechtshänder|farbenblind|nachtblind)/u,
    say: 'ist {}',
  },
  {
    after: /^ (?:wohne|wohnen|wohnt|lebe|leben|lebt) seit .{2,30} in (?<value>.+)/u,
    say: 'wohnt in {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    after: /^ in (?<value>\p{Lu}\p{L}+) (?:wohne|wohnen|wohnt|lebe|leben|lebt)/u,
    say: 'wohnt in {}',
    topic: 'home',
  },
  {
    after: /^ (?:arbeite|arbeitet|bin|ist) (?<value>seit .{2,30} (?:bei|beim|als|in der|im|an der) .+)/u,
    say: 'arbeitet {}',
    topic: 'employer',
    maxWords: 8,
  },
  {
    after: /^ (?<value>(?:bei|beim|als) .+) (?:arbeite|arbeitet)/u,
    say: 'arbeitet {}',
    topic: 'employer',
    maxWords: 5,
  },
  {
    after:
      /^ (?:reagiere|reagiert) (?:allergisch )?(?<value>(?:auf|gegen) \p{Lu}\p{L}+)(?: allergisch)?(?!\p{L})/u,
    say: 'ist allergisch {}',
    holds: /^(?:auf|gegen)/,
  },
  {
    after: /^ (?:studiere|studiert) (?:ab|seit) .{3,20} (?<value>in \p{Lu}\p{L}+)/u,
    say: 'studiert {}',
    topic: 'studies',
  },
  {
    of: LEUTE_OF,
    after:
      /^ (?:bin|ist) (?:jetzt |schon )?(?<value>(?:\p{Ll}+und)?(?:zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)|[2-9]\d)(?= Jahre| geworden|$|[.,!])/u,
    say: 'ist {} Jahre alt',
    topic: 'age',
  },
  {
    after:
      /^ (?:fange?|fängt|habe|hab|hat) (?:.{3,25} )?(?<value>(?:bei|beim) (?:der |dem )?\p{Lu}\p{L}+) an(?:gefangen)?(?!\p{L})/u,
    say: 'arbeitet {}',
    topic: 'employer',
  },
  {
    after:
      /^ (?:arbeite|arbeitet) (?:nur )?(?<value>(?:\p{L}+|\d+) (?:Tage|Stunden|Tag) (?:die|in der|pro) Woche|Teilzeit|in Teilzeit|im Schichtdienst|nachts|im Homeoffice|von zu Hause)(?!\p{L})/u,
    say: 'arbeitet {}',
  },
  { after: /^ war (?<value>.{2,30} (?:Jahre|Jahre lang) .+)/u, say: 'war {}', maxWords: 7 },
  { after: /^ (?:bin|ist|sind) (?<value>.+)/u, say: 'ist {}', is: GERMAN_STATE, maxWords: 3 },
  { after: /^ (?:habe|hab|hat) (?:\p{L}+ )?(?<value>.+)/u, say: 'hat {}', is: GERMAN_ILLNESS, maxWords: 3 },
  { after: /^ (?:habe|hab|hat) (?<value>Angst vor .+)/u, say: 'hat {}', maxWords: 4 },
  {
    after:
      /^ (?:habe|hab|haben|hat) (?<value>(?:einen|eine|ein) (?:\p{L}+ )?(?:Tochter|Sohn|Bruder|Schwester|Hund|Katze|Kater|Pferd|Garten|Schrebergarten|Boot|Enkel|Enkelin|Enkelkind|Zwillingsbruder|Zwillingsschwester|Hörgerät|Herzschrittmacher|Ferienhaus|Wohnwagen|Wohnmobil))(?! (?:ge|ver|be)\p{L}+)/u,
    say: 'hat {}',
  },
  {
    after: /^ (?:trage|trägt) (?<value>(?:eine Brille|Kontaktlinsen|ein Hörgerät|Hörgeräte|eine Prothese))/u,
    say: 'trägt {}',
  },
  { after: /^ (?:darf|kann) (?<value>kein\p{L}* \p{L}+ (?:essen|trinken|haben|vertragen))/u, say: 'darf {}' },
  {
    after: /^ kann (?<value>nicht (?:schwimmen|Rad fahren|Auto fahren|kochen|singen|tanzen|pfeifen))/u,
    say: 'kann {}',
  },
  {
    after: /^ (?<value>(?:gegen|auf) \p{L}+ allergisch|allergisch (?:gegen|auf) \p{L}+) (?:bin|ist|bist)/u,
    say: 'ist {}',
  },
  { after: /^ (?<value>kein\p{L}* \p{L}+) (?:esse|isst)(?!\p{L})/u, say: 'isst {}' },
  { after: /^ (?<value>kein\p{L}* \p{L}+) (?:vertrage|verträgt)/u, say: 'verträgt {}' },
  { after: /^ (?<value>kein\p{L}* \p{L}+) (?:mag|mögen)(?!\p{L})/u, say: 'mag {}' },
  { after: /^ (?<value>kein\p{L}* \p{L}+) (?:trinke|trinkt)/u, say: 'trinkt {}' },
  { after: /^ (?:rauche|raucht) (?<value>nicht|nicht mehr)(?!\p{L})/u, say: 'raucht {}', topic: 'smoking' },
  {
    after: /^ (?:esse|isst) am liebsten (?<value>.+)/u,
    say: 'isst am liebsten {}',
    maxWords: 3,
  },
  {
    after: /^ (?:trinke|trinkt) am liebsten (?<value>.+)/u,
    say: 'trinkt am liebsten {}',
    maxWords: 3,
  },
  {
    after:
      /^ (?:singe|singt) (?:seit .{2,30} )?(?<value>(?:im|in der|in einem|in einer|bei der|beim) \p{Lu}.+)/u,
    say: 'singt {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?:spiele|spielt) (?:seit .{2,30} )?(?<value>(?:im|in der|in einem|in einer|bei der|beim) \p{Lu}.+)/u,
    say: 'spielt {}',
    maxWords: 4,
  },
  {
    after:
      /^ (?<value>(?:gehe|geht|gehen|schwimme|schwimmt|laufe|läuft|turne|turnt|fahre|fährt|fahren|treffe|trifft|besuche|besucht|mache|macht) .+)/u,
    say: '{}',
    isVerb: true,
    holds: GERMAN_REGULAR,
    maxWords: 9,
  },
  {
    after: /^ (?:sprechen|spreche|spricht) (?:auch |fließend |ein bisschen )?(?<value>\p{Lu}\p{L}+isch)/u,
    say: 'spricht {}',
  },
  { of: LEUTE, after: /^ (?<value>\p{Lu}\p{Ll}+)(?! \p{Lu})/u, say: 'heißt {}', is: NAME_ALONE, maxWords: 1 },
  { of: /^Lieblings\p{Ll}+$/u, after: /^ ist (?<value>.+)/u, say: 'ist {}', topic: 'favourite', maxWords: 3 },
  {
    after:
      /^ (?:bin|ist) (?:seit .{2,25} )(?<value>(?:Vegetarier|Veganer|Rentner|Witwer|Witwe|Nichtraucher|verheiratet|geschieden|trocken|in Rente|vegetarisch|vegan)(?:in)?)(?!\p{L})/u,
    say: 'ist {}',
  },
  {
    after:
      /^ (?:bin|ist) (?<value>Nichtraucher(?:in)?|von Beruf \p{L}+|gelernter? \p{L}+|farbenblind|nachtblind|Brillenträger(?:in)?|Einzelkind|Zwilling|Vegetarier(?:in)?|Veganer(?:in)?)(?!\p{L})/u,
    say: 'ist {}',
  },
  { after: /^ (?:bin|ist) (?<value>(?:gegen|auf) \p{L}+) allergisch/u, say: 'ist allergisch {}' },
  {
    after:
      /^ (?:bin|ist|sind) (?<value>(?:im|in einem|in einer|in der) (?:\p{L}+ )?\p{L}*(?:[Cc]hor|[Vv]erein|[Oo]rchester|[Mm]annschaft|[Bb]and|Feuerwehr|Elternbeirat|Betriebsrat|Vorstand)(?!\p{L}))/u,
    say: 'ist {}',
  },
  {
    after: /^ (?:reagiere|reagiert) allergisch auf (?<value>.+)/u,
    say: 'ist allergisch auf {}',
    maxWords: 2,
  },
  {
    after:
      /^ (?:kann|darf) (?<value>(?:kein\p{L}*|nicht) (?:\p{L}+ ){0,2}(?:sehen|essen|trinken|riechen|leiden|schwimmen|schlafen|fahren|fliegen|kochen|singen|tanzen|pfeifen))(?!\p{L})/u,
    say: 'kann {}',
  },
  {
    after:
      /^ (?:habe|hab|haben|hat) (?<value>kein\p{L}* (?:Auto|Fernseher|Führerschein|Kinder|Handy|Haustiere|Geschwister|Smartphone|Fahrrad|Garten|Weisheitszähne))(?!\p{L})/u,
    say: 'hat {}',
  },
  { after: /^ (?:nehme|nimmt) (?<value>\p{Lu}\p{L}+ gegen .+)/u, say: 'nimmt {}', maxWords: 4 },
  {
    after: /^ (?:komme|kommt) ursprünglich aus (?<value>\p{Lu}\p{L}+)/u,
    say: 'kommt aus {}',
    topic: 'origin',
  },
  {
    after:
      /^ (?:habe|hab|hat) (?<value>(?:zwei|drei|vier|fünf|\d+|zwanzig|dreißig) Jahre (?:lang )?(?:in|bei|als) .+)/u,
    say: 'hat {}',
    maxWords: 8,
  },
  { after: /^ (?:spiele|spielt) seit .{2,25} (?<value>\p{Lu}\p{L}+)/u, say: 'spielt {}' },
  { of: LEUTE, after: /^ (?:war) (?<value>\p{L}.+)/u, say: 'war {}', holds: GERMAN_OCCUPATION, maxWords: 2 },
  {
    after: /^ (?:bin|sind|ist) (?:.{2,30} )?nach (?<value>\p{Lu}\p{L}+) (?:um)?gezogen/u,
    say: 'wohnt in {}',
    topic: 'home',
  },
  {
    after:
      /^ arbeite[tn]? (?<value>(?:in einem|in einer|in meiner|für|an der|an einer|am|bei der|bei) (?!Stunde|Minute|Woche)\p{L}.+)/u,
    say: 'arbeitet {}',
    topic: 'employer',
    maxWords: 5,
  },
  {
    after:
      /^ (?:lebe|lebt|leben|wohne|wohnt|wohnen) (?<value>allein|alleine|getrennt|mit meine\p{L} \p{L}+(?: zusammen)?|in einer WG)(?!\p{L})/u,
    say: 'lebt {}',
  },
  {
    after: /^ (?:wohne|wohnt|wohnen) in (?<value>\p{Lu}\p{L}+ \p{Lu}\p{L}+)/u,
    say: 'wohnt in {}',
    topic: 'home',
  },
  {
    after:
      /^ (?:nehme|nimmt) (?<value>(?:\p{Lu}\p{Ll}*(?:tabletten|pillen|tropfen|senker)|Blutverdünner|Insulin|Antidepressiva|Betablocker|Schilddrüsenhormone|Medikamente gegen .+)(?!\p{L}))/u,
    say: 'nimmt {}',
    maxWords: 4,
  },
  {
    after: /^ (?:habe|hab|hat) (?:.{2,20} )?(?<value>\p{Lu}\p{L}+) studiert/u,
    say: 'hat {} studiert',
    topic: 'studies',
  },
  {
    after:
      /^ (?:hatte|hatten) (?:.{2,20} )?(?<value>eine[nm]? (?:Herzinfarkt|Schlaganfall|Fehlgeburt|Hirntumor|Bandscheibenvorfall|Brustkrebs))/u,
    say: 'hatte {}',
  },
  { after: /^ (?:laufe|läuft) (?<value>Marathon|Halbmarathon)/u, say: 'läuft {}' },
  {
    after:
      /^ (?:bin|ist|sind) (?:schon )?seit .{2,25} (?<value>verheiratet|geschieden|verwitwet|in Rente|trocken|zusammen)(?!\p{L})/u,
    say: 'ist {}',
    topic: 'state',
  },
  {
    after:
      /^ (?:habe|hab|haben|hat) (?<value>(?:ein|eine) (?:\p{L}+ )?(?:Haus|Wohnung|Ferienhaus|Ferienwohnung|Hütte) (?:in|an|auf) (?:der |dem )?\p{Lu}\p{L}+)/u,
    say: 'hat {}',
  },
  {
    after:
      /^ (?:trinke|trinkt) (?:meinen|seinen|ihren|den) (?<value>(?:Kaffee|Tee) (?:schwarz|mit .+|ohne .+))/u,
    say: 'trinkt {}',
    maxWords: 4,
  },
  {
    after: /^ (?:war) (?:früher |mal )?(?<value>\p{Lu}\p{L}+)(?:$|[ .,!])/u,
    say: 'war {}',
    holds: GERMAN_OCCUPATION,
  },
  {
    after:
      /^ (?:habe|hab|hat) im (?<value>Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember) Geburtstag/u,
    say: 'hat im {} Geburtstag',
    topic: 'day',
  },
  {
    after:
      /^ (?:geht|gehen|gehe) (?<value>(?:in die (?:erste|zweite|dritte|vierte|fünfte|sechste|siebte|achte|neunte|zehnte) Klasse|auf (?:das|die|eine|ein|aufs) .*(?:schule|gymnasium|Schule|Gymnasium)|in den Kindergarten|in die Kita))(?!\p{L})/u,
    say: 'geht {}',
    topic: 'school',
  },
  {
    of: LEUTE,
    after: /^ (?:ist|sind) (?:\p{L}+ ){0,3}(?<value>gestorben|tot|verstorben)(?!\p{L})/u,
    say: 'ist {}',
    topic: 'life',
  },
  {
    of: KIND,
    after:
      /^ (?:ist|wird) (?:jetzt |schon )?(?<value>(?:eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|\d\d?))(?: Jahre alt| geworden|$|[,.!])/u,
    say: 'ist {} Jahre alt',
    topic: 'age',
  },
  { of: /^Muttersprache$/i, after: /^ ist (?<value>\p{Lu}\p{L}+)/u, say: 'ist {}', topic: 'language' },
  {
    of: LEUTE,
    after: /^ (?:kommen|kommt) aus (?<value>(?:der |dem |den )?\p{Lu}\p{L}+)/u,
    say: 'kommt aus {}',
    topic: 'origin',
  },
  { of: LEUTE, after: /^ (?:wohnen|leben) in (?<value>\p{Lu}\p{L}+)/u, say: 'wohnt in {}', topic: 'home' },
  {
    of: LEUTE,
    after: /^ (?:ist|heißt) (?<value>(?:Frau |Herr |Doktor |Dr )\p{Lu}\p{L}+)/u,
    say: 'heißt {}',
    topic: 'name',
  },
  {
    of: /^Geburtstag$/i,
    after: /^ ist am (?<value>.+)/u,
    say: 'ist am {}',
    topic: 'day',
    holds: DAY,
    maxWords: 3,
  },
  { of: LEUTE, after: /^ heißt (?<value>\p{Lu}.+)/u, say: 'heißt {}', holds: NAME, maxWords: 2 },
  {
    of: LEUTE,
    after: /^ (?:arbeitet) (?<value>in (?!Ruhe|Eile|Zukunft)\p{Lu}\p{Ll}+)(?!\p{L})/u,
    say: 'arbeitet {}',
    maxWords: 2,
  },
  {
    of: LEUTE,
    after: /^ ist (?:jetzt )?(?<value>(?:im|in einem) (?:Pflege|Alten|Senioren)heim(?: .+)?)/u,
    say: 'ist {}',
    maxWords: 5,
  },
  {
    of: LEUTE,
    after: /^ war (?:ja )?(?:früher )?(?<value>\p{Lu}\p{L}+)(?=[,.]|$)/u,
    say: 'war {}',
    holds: GERMAN_OCCUPATION,
    maxWords: 1,
  },
  {
    of: LEUTE,
    after: /^ (?:arbeitet) (?<value>(?:als|bei|beim|in der|im) .+)/u,
    say: 'arbeitet {}',
    maxWords: 5,
  },
  { of: LEUTE, after: /^ (?:wohnt|lebt) in (?<value>.+)/u, say: 'wohnt in {}', is: PLACE, maxWords: 3 },
  {
    of: LEUTE,
    after: /^ ist (?<value>.+)/u,
    say: 'ist {}',
    holds: GERMAN_OCCUPATION,
    maxWords: 2,
  },
];

export const PREDICATES: Readonly<Record<Code, readonly Predicate[]>> = {
  en: [...ENGLISH_PREDICATES, ...HABITS.en],
  de: [...GERMAN_PREDICATES, ...HABITS.de],
  fr: [...FRENCH_PREDICATES, ...HABITS.fr],
  es: [...SPANISH_PREDICATES, ...HABITS.es],
};

const english = {
  own: new Set(['i', 'we']),
  listener: new Set(['you']),
  third: new Set(['he', 'she']),
  polite: null,
  second: { are: 'am', have: 'have' },
  possessives: new Set(['my', 'our']),
  adjectives: new Set('new little older younger big best eldest oldest youngest'.split(' ')),
  noFactBefore:
    /(?<!\p{L})(?:if|unless|wish|why|imagine|pretend|(?:would|could)(?! be \p{L}+(?: |$))|used to|told|tell|said|says|(?<!as I )say|asked|goes|thought|dream|dreamt|when|before|maybe|perhaps|as though|wenn|falls|hätte|hätten|wäre|wären|würde|könnte|sagt|sagte|gesagt|meinte|dachte|früher|vielleicht|damals|träume|träumt|träumte|angenommen)(?!\p{L})/iu,
  asked: /(?:^| )(?:do|does|did|am|are|is|was|have|has|why|where|how|who|wo|warum|wer)$/i,
  turn: / (?:but|because|anyway|aber|weil) /i,
  end: /[.!?;,…:]| (?:because|but|so|when|if|unless|though|although|since then|which|yes|no|okay|ok|right|you know|as you know|remember|always|what|who|you|we|it|and (?:I|you|he|she|we|they|it|that|then|there|my)|I|he|she|they|it's|that's|weil|aber|wenn|falls|obwohl|denn|und (?:ich|du|er|sie|wir|dann|da|das)|ich|oder|ja|nein|wie du weißt)(?!\p{L})/iu,
  looseEnd:
    / (?:a|an|from|den|dem|the|and|or|of|to|in|on|at|for|with|that|than|then|now|again|too|any|more|anymore|anyway|actually|really|here|there|please|ever|is|am|are|und|der|die|das|ein|eine|auch|jetzt|ja|halt|da|dort|so|in|mit|zu|bei|beim|von|love|mate|darling)$/iu,
  unclear:
    /^(?:it|that|this|these|those|them|him|her|you|me|us|what|how|to|not|so|there|here|one|ones|something|anything|everything|nothing|another|today|tomorrow|tonight|es|das|dies|diese|dieser|ihn|sie|ihm|ihr|dich|mich|was|wie|heute|morgen)(?!\p{L})/iu,
  vagueEnd: / (?:it|that|this|them|him|her|those|es|dem|den|das)$/i,
  passing:
    /(?<!\p{L})(?:today|tonight|tomorrow|yesterday|this (?:morning|week|weekend|evening|month|afternoon)|next (?:week|month|year)|last (?:week|night)|right now|at the moment|for now|in a minute|heute|(?<!jeden )morgen|gestern|gerade|nächste[nrs]? (?:Woche|Monat|Jahr|Wochenende|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)|diese (?:Woche|Nacht)|übermorgen|um \p{L}{3,10} Uhr|am (?!besten|liebsten|meisten|wenigsten)\p{L}{3,25}ten(?! (?:jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)))(?!\p{L})/iu,
  prepare: text => text.replace(/^(?=been )/i, 'I have '),
  follow: expanded,
  theirs: (name, relation) => `${name}'s ${relation}`,
  plural: text =>
    text.replace(
      /^(\p{L}+ )(is|has|lives|works|comes|speaks|goes|does)(?!\p{L})/u,
      (_, who, verb) => `${who}${PLURALS[verb] ?? verb}`,
    ),
} satisfies Grammar;

const german = {
  ...english,
  own: new Set(['ich', 'wir']),
  listener: new Set(['du']),
  third: new Set(['er', 'sie']),
  polite: 'sie',
  second: {
    bist: 'ist',
    sind: 'ist',
    hast: 'hat',
    haben: 'hat',
    wohnst: 'wohnt',
    wohnen: 'wohnt',
    arbeitest: 'arbeitet',
    arbeiten: 'arbeitet',
    rauchst: 'raucht',
    rauchen: 'raucht',
    verträgst: 'verträgt',
    vertragen: 'verträgt',
    nimmst: 'nimmt',
    nehmen: 'nimmt',
    isst: 'isst',
    essen: 'isst',
    trinkst: 'trinkt',
    trinken: 'trinkt',
  },
  possessives: new Set(['mein', 'meine', 'unser', 'unsere']),
  adjectives: new Set(
    'neue neuer neues kleine kleiner ältere älterer jüngere jüngerer beste bester große großer'.split(' '),
  ),
  prepare: text => text.replace(/^(?=(?:bin|hab|habe|esse|trinke|mag|vertrage|wohne|arbeite) )/i, 'ich '),
  follow: straightened,
  plural: text =>
    text.replace(
      /^(\p{L}+ )(ist|hat|wohnt|lebt|arbeitet|kommt|geht|spricht)(?!\p{L})/u,
      (_, who, verb) => `${who}${PLURALS[verb] ?? verb}`,
    ),
} satisfies Grammar;

export const GRAMMARS: Readonly<Record<Code, Grammar>> = {
  en: english,
  de: german,
  fr: frenchGrammar,
  es: spanishGrammar,
};

const PLURALS: Readonly<Record<string, string>> = {
  is: 'are',
  has: 'have',
  lives: 'live',
  works: 'work',
  comes: 'come',
  speaks: 'speak',
  goes: 'go',
  does: 'do',
  ist: 'sind',
  hat: 'haben',
  wohnt: 'wohnen',
  lebt: 'leben',
  arbeitet: 'arbeiten',
  kommt: 'kommen',
  geht: 'gehen',
  spricht: 'sprechen',
};

const PARTICLE =
  / (?:ja|schon(?= seit| über| fast)|halt|eben|leider|übrigens|doch|eigentlich|einfach|sowieso|nun mal|bekanntlich|echt|wirklich|total|auch|noch|immer noch|immerhin|schließlich|selber|selbst|da|dort)(?= )/giu;
/** "Ich wohn", "ich spiel". */
const ELIDED =
  /^ (wohn|leb|arbeit|spiel|trink|lern|studier|rauch|sammel|mach|komm|nehm|trag|sing|geh|lauf|fahr|vertrag|fang|reagier)(?= )/u;
/** Beginning of an inverted clause: "auf Nüsse reagiere ich". */
const PREFIELD = /(?:^| )(?:auf|gegen|bei|beim|aus|von) \p{L}+(?= \p{Ll}+$)/u;
/** Finite verbs of the first and the third person, where they come before the subject, or at the end of the clause. */
const FINITE_BEFORE =
  /(?:^| )(wohne|wohnst|wohnt|wohnen|lebe|lebst|lebt|arbeite|arbeitet|lerne|lernt|spiele|spielt|studiere|studiert|trinke|trinkt|esse|isst|mag|bin|ist|habe|hab|hat|haben|vertrage|verträgt|kann|darf|singe|singt|komme|kommt|war|trage|trägt|spreche|spricht|rauche|raucht|sammle|reagiere|reagiert|nehme|nimmt)$/iu;
const FINITE_LAST =
  /^( .{2,80}) (wohne|wohnt|wohnen|lebe|lebt|arbeite|arbeitet|lerne|lernt|spiele|spielt|trinke|trinkt|esse|isst|mag|bin|ist|habe|hab|hat|haben|vertrage|verträgt|kann|darf|singe|singt|komme|kommt|war|trage|trägt|spreche|spricht|studiere|studiert|reagiere|reagiert|nehme|nimmt)$/u;

/** Filler words, which add no meaning. */
const FILLER =
  / (?:still|just|really|actually|honestly|also|pretty|basically|literally|obviously|unfortunately|sadly|kind of|sort of|terribly|awfully|badly|severely|seriously|absolutely|horribly|dreadfully|extremely|slightly|usually|generally|mostly|incredibly)(?= )/giu;

/**
 * Puts a German predicate into the order it has after its subject: "jetzt wohne ich in Bonn" and "dass ich in
 * Bonn wohne" become " wohne in Bonn". Particles are left out.
 */
function straightened(rest: string, said: string): string {
  const plain = rest
    .replaceAll(PARTICLE, '')
    .replace(ELIDED, ' $1e')
    .replace(/ seit (?:\p{L}+ ){1,3}(?=kein\p{L}* )/u, ' ');
  const [, before] = FINITE_BEFORE.exec(said) ?? [];
  if (before) return ` ${before}${(PREFIELD.exec(said)?.[0] ?? '').replace(/^(?=\p{L})/u, ' ')}${plain}`;
  const end = plain.search(english.end);
  const clause = end < 0 ? plain : plain.slice(0, end);
  const [, inner, last] = FINITE_LAST.exec(clause) ?? [];
  return inner && last ? ` ${last}${inner}` : plain;
}

/** " 'm" and "n't" in full, and without adverbs and durations. */
function expanded(rest: string): string {
  return rest
    .replace(/^'m /, ' am ')
    .replace(/^'re /, ' are ')
    .replace(/^'ve /, ' have ')
    .replace(/^'s (?=got |been )/, ' has ')
    .replace(/^'s /, ' is ')
    .replace(/^ don't /, ' do not ')
    .replace(/^ doesn't /, ' does not ')
    .replace(/^ isn't /, ' is not ')
    .replace(/^ aren't /, ' are not ')
    .replace(/^ haven't /, ' have not ')
    .replace(/^ hasn't /, ' has not ')
    .replace(/^ (have|has) not got /, (_, verb) => (verb === 'has' ? ' does not have ' : ' do not have '))
    .replace(/^ can't /, ' cannot ')
    .replaceAll(FILLER, '');
}
