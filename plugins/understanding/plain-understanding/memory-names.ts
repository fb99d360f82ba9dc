/**
 * Names given together with a relation to the speaker, and facts stated by a possessive: "my nut allergy".
 */
import type { Code } from './memory-form.ts';
import { words } from './tokens.ts';

/** Words for the speaker's people and animals, in lower case. */
const RELATIONS: Readonly<Record<Code, ReadonlySet<string>>> = {
  en: words(
    `husband wife partner girlfriend boyfriend fiancé fiancée friend mate boss manager sister brother mother mum mom father dad son daughter stepson stepdaughter grandson granddaughter grandmother grandfather grandma grandpa gran aunt uncle cousin niece nephew landlord landlady neighbour neighbor dog cat puppy kitten horse rabbit`,
  ),
  de: words(
    `mann frau freund freundin partner partnerin verlobter verlobte chef chefin schwester bruder mutter vater sohn tochter oma opa tante onkel cousin cousine nichte neffe enkel enkelin nachbar nachbarin vermieter vermieterin kollege kollegin hausarzt hausärztin zahnarzt zahnärztin hund hündin katze kater pferd hase`,
  ),
  fr: words(
    `mari femme compagnon compagne copain copine fille fils mère père maman papa sœur frère grand-mère grand-père mamie papi tante oncle cousin cousine nièce neveu ami amie voisin voisine chef cheffe patron patronne propriétaire chien chienne chat chatte cheval lapin`,
  ),
  es: words(
    `marido mujer esposo esposa pareja novio novia hija hijo madre padre mamá papá hermana hermano abuela abuelo tía tío prima primo sobrina sobrino nieta nieto amiga amigo vecina vecino jefe jefa casero casera perro perra gato gata caballo conejo`,
  ),
};
const PETS = words(`dog cat puppy kitten hund katze kater chien chienne chat chatte perro perra gato gata`);

/** A name in apposition, or the name of a pet. Groups `relation` and `name`. */
export const NAMINGS: Readonly<Record<Code, readonly RegExp[]>> = {
  en: [
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20})(?: who)?(?:'s| is) my (?:\p{Ll}{1,20} )?(?<relation>\p{Ll}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20})(?: who)? is (?:a|an|our|my) (?:\p{Ll}{1,20} )?(?<pet>\p{L}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?:[Mm]y|[Oo]ur) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30}), (?<name>\p{Lu}\p{Ll}{2,20})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}), (?:my|our) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?:[Mm]y|[Oo]ur) (?:(?:little|older|younger|big|eldest|youngest|best) )?(?<relation>\p{L}{2,30}) (?<possessor>\p{L}{3,20})'s(?!\p{L})/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}), (?:the|our|my) (?:\p{Ll}{1,20} )?(?<pet>\p{Ll}{2,20})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?:[Tt]he|[Oo]ur|[Mm]y) (?<pet>\p{L}{2,20})(?:'s| is) called (?<name>\p{Lu}\p{Ll}{2,20})/gu,
  ],
  de: [
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}) ist (?:meine?|unsere?) (?:\p{Ll}{1,20} )?(?<relation>\p{Lu}\p{Ll}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}) ist (?:unsere?|meine?|ein|eine) (?:\p{Ll}{1,20} )?(?<pet>\p{Lu}\p{Ll}{1,20})(?!\p{L})/gu,
    /(?<!\p{L})(?:[Mm]eine?[mnrs]?|[Uu]nsere?[mnrs]?) (?:\p{Ll}{1,20} )?(?<relation>\p{Lu}\p{Ll}{1,30}), (?:der |die |dem |den )?(?<name>(?:Frau |Herrn? |Doktor )?\p{Lu}\p{Ll}{2,20})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}), (?:meine?[mnrs]?|unsere?[mnrs]?) (?:\p{Ll}{1,20} )?(?<relation>\p{Lu}\p{Ll}{1,30})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?:[Dd]er|[Dd]ie|[Uu]nsere?|[Mm]eine?) (?<pet>\p{Lu}\p{Ll}{1,20}) heißt (?<name>\p{Lu}\p{Ll}{2,20})/gu,
  ],
  fr: [
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}),? (?:c')?est (?:mon|ma|notre) (?:\p{Ll}{1,20} )?(?<relation>[\p{Ll}-]{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}) (?:c')?est (?:notre|mon|ma|un|une) (?<pet>\p{L}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?:[Mm]on|[Mm]a|[Nn]otre) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30}), (?<name>\p{Lu}\p{Ll}{2,20})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}), (?:mon|ma|notre) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?:[Ll]e|[Ll]a|[Mm]on|[Mm]a|[Nn]otre) (?<pet>\p{L}{2,20}) s'appelle (?<name>\p{Lu}\p{Ll}{2,20})/gu,
  ],
  es: [
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}) es (?:mi|nuestr[oa]) (?:\p{Ll}{1,20} )?(?<relation>\p{Ll}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}) es (?:nuestr[oa]|mi|un|una) (?<pet>\p{L}{2,20})(?!\p{L})/gu,
    /(?<!\p{L})(?:[Mm]i|[Nn]uestr[oa]) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30}), (?<name>\p{Lu}\p{Ll}{2,20})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?<name>\p{Lu}\p{Ll}{2,20}), (?:mi|nuestr[oa]) (?:\p{L}{1,20} )?(?<relation>[\p{L}-]{2,30})(?= ?(?:[,.!?;]|$))/gu,
    /(?<!\p{L})(?:[Ee]l|[Ll]a|[Mm]i|[Nn]uestr[oa]) (?<pet>\p{L}{2,20}) se llama (?<name>\p{Lu}\p{Ll}{2,20})/gu,
  ],
};

/** Returns the relation to the speaker and the name, if a match of `NAMINGS` is about somebody. */
export function namedIn(
  { relation, pet, possessor, name: said }: Partial<Record<string, string>>,
  code: Code,
): { relation: string; name: string } | null {
  const owning = possessor !== undefined && !NO_NAMES.has(possessor.toLowerCase()) ? possessor : undefined;
  const name = said ?? owning?.replace(/^\p{L}/u, letter => letter.toUpperCase());
  const isKnown = relation === undefined ? PETS.has((pet ?? '').toLowerCase()) : isRelation(relation, code);
  if (NO_NAMES.has((name ?? '').toLowerCase())) return null; // "that's my uncle"
  return isKnown && name !== undefined ? { relation: relation ?? pet ?? '', name } : null;
}

/** Words before "'s" that are no names: "my brother that's ill". */
const NO_NAMES = words(
  'this these those he she it that there what who where how here and who everybody everyone always today tonight tomorrow now then school doctor teacher birthday wedding',
);

/** Returns whether a word names a relation to the speaker: "sister". */
export function isRelation(word: string, code: Code): boolean {
  return RELATIONS[code].has(word.toLowerCase());
}

/** States a name in the third person. */
export const CALLED: Readonly<Record<Code, string>> = {
  en: 'is called {}',
  de: 'heißt {}',
  fr: "s'appelle {}",
  es: 'se llama {}',
};

interface Possession {
  said: RegExp;
  say: string;
  topic?: string;
  /** It is about somebody of theirs: `Boss`. */
  relation?: string;
}

export const POSSESSIONS: Readonly<Record<Code, readonly Possession[]>> = {
  en: [
    {
      said: /(?<!\p{L})(?<value>\p{L}{3,20}) (?:brings|makes) me (?:come )?out in (?:hives|a rash|lumps|spots|blotches)(?!\p{L})/gu,
      say: 'is allergic to {}',
    },
    {
      said: /(?<!\p{L})(?:[Ii]t's|[Tt]his is|[Mm]y name is|I'm) \p{Lu}\p{Ll}{1,20}(?: \p{Lu}\p{Ll}{1,20})? (?:from|at|of|in) (?<value>(?:(?:number|flat) )?[\p{L}\d]{1,12}(?: \p{L}{1,12})? \p{Lu}\p{Ll}{1,20} (?:Road|Street|Avenue|Lane|Close|Drive|Terrace|Crescent|Court|Place|Way|Gardens))(?!\p{L})/gu,
      say: 'lives at {}',
      topic: 'address',
    },
    {
      said: /(?<!\p{L})(?:before|since|until|when) I had (?:the |my )(?<value>twins|kids|children|boys|girls)(?!\p{L})/gu,
      say: 'has {}',
    },
    {
      said: /(?<!\p{L})I(?:'ve| have)? (?:given up|gave up|quit|stopped) (?<value>smoking|drinking|alcohol|sugar|meat|caffeine|dairy)(?!\p{L})/gu,
      say: 'has given up {}',
    },
    {
      said: /(?<!\p{L})(?<value>cats|dogs|horses|nuts|peanuts|eggs|shellfish|penicillin|latex|pollen),? I'm allergic(?! to)/giu,
      say: 'is allergic to {}',
    },
    {
      said: /(?<!\p{L})[Mm]y (?<value>(?!bad|terrible)\p{Ll}+ allergy|allergy to \p{L}+)/gu,
      say: 'has a {}',
    },
    {
      said: /(?<!\p{L})(?<!(?:for|against) )(?:[Mm]y|[Ii]t's (?:the|my)) (?<value>asthma|diabetes|arthritis|epilepsy|migraines|eczema|psoriasis|tinnitus|dyslexia|adhd|ADHD|hay ?fever|high blood pressure|anxiety|sciatica|osteoporosis|glaucoma|cataracts|coeliac disease|insomnia|vertigo)(?!\p{L})/gu,
      say: 'has {}',
    },
    {
      said: /(?<!\p{L})[Mm]y (?<value>hearing aid|pacemaker|wheelchair|inhaler|insulin pump|epipen|walking stick|stoma|allotment|caravan|greenhouse|motorbike|camper ?van|beehives?|sailing boat|season ticket|PhD|phd|stutter)(?!\p{L})/gu,
      say: 'has a {}',
    },
    {
      said: /(?<!\p{L})(?<value>\p{L}+) (?:is|are) my (?:absolute |all[- ]time )?(?<kind>favou?rite(?: (?:food|dish|colour|color|book|film|movie|band|singer|writer|author|season|fruit|cake|sport|flower|animal|drink))?)(?= |[.,!]|$)/gu,
      say: '{kind} is {}',
    },
    {
      said: /(?<!\p{L})(?<value>(?!it|that|this|he|she|they|which)\p{L}{4,}) (?:gives? me|brings? me out in|brings? on) (?<kind>an? rash|hives|migraines?|spots|hiccups|a reaction)(?!\p{L})/giu,
      say: 'gets {kind} from {}',
    },
    {
      said: /(?<!\p{L})(?<value>(?!it|that|this|he|she|they|which|who)\p{L}{4,}) (?:doesn't|don't|does not|do not) agree with me(?!\p{L})/giu,
      say: 'does not tolerate {}',
    },
    {
      said: /(?<!\p{L})(?:[Nn]o|[Ww]ithout|[Ss]kip the|[Hh]old the) (?<value>\p{Ll}{3,}),?(?: (?:for me|please|in mine)){0,2}[,.]? (?:because )?I(?:'m| am) allergic(?! to)/gu,
      say: 'is allergic to {}',
    },
    {
      said: /(?<!\p{L})(?:[Nn]o|[Ww]ithout|[Ss]kip the|[Hh]old the) (?<value>\p{Ll}{3,}),?(?: (?:for me|please|in mine)){0,2}[,.]? (?:because )?I (?:can't (?:eat|have|stand|do|digest)|react to|don't (?:eat|tolerate|like)) (?:them|it|those)(?!\p{L})/gu,
      say: 'does not eat {}',
    },
    {
      said: /(?<!\p{L})(?:a|an|my|the) (?<value>(?:coffee|tea|espresso)) (?:please )?(?<kind>black|white|with \p{L}+|without \p{L}+|no sugar)(?: please)? (?:as always|as usual|like always)/giu,
      say: 'drinks {} {kind}',
      topic: 'drinks',
    },
    {
      said: /(?<!\p{L})(?<value>(?:Frau|Herr|Mr|Mrs|Ms|Dr) \p{Lu}\p{L}+) (?:\p{L}+ ){0,2}(?:she's|he's|she is|he is|is) (?:a|an|my) (?:\p{Ll}+ )?boss(?!\p{L})/gu,
      say: 'is called {}',
      topic: 'name',
      relation: 'Boss',
    },
    {
      said: /(?<!\p{L})I react (?:badly |terribly )?to (?<value>(?!it|that|this|them|what|how|things|the |stress|you|him|her)\p{L}{4,})/gu,
      say: 'is allergic to {}',
    },
    {
      said: /(?<!\p{L})[Ii]t(?:'s| is) my birthday on (?<value>the \p{L}+ of \p{Lu}\p{L}+|\p{Lu}\p{L}+ the \p{L}+)/gu,
      say: 'is on {}',
      topic: 'day',
      relation: 'Birthday',
    },
    {
      said: /(?<!\p{L})[Mm]y (?:new |phone |mobile ){0,2}number(?:'s| is) (?:now )?(?<value>\+?\d[\d -]{5,16}\d)/gu,
      say: 'is {}',
      topic: 'number',
      relation: 'Number',
    },
  ],
  de: [
    {
      said: /(?<!\p{L})(?<value>\p{Lu}\p{Ll}{2,20}), (?:die|das|den) (?:vertrag|vertrage) ich (?:\p{L}{2,10} ){0,2}nicht(?!\p{L})/gu,
      say: 'verträgt keine {}',
    },
    {
      said: /(?<!\p{L})(?<value>(?!Arbeit|Leute|Stress|Sport)\p{Lu}\p{Ll}{2,20})(?: nicht)?, da reagiere? ich (?:drauf|darauf|allergisch)(?!\p{L})/gu,
      say: 'reagiert allergisch auf {}',
    },
    {
      said: /(?<!\p{L})(?:[Dd]en|[Zz]um|[Uu]nseren|[Uu]nserem) Hochzeitstag am (?<value>\p{L}{3,20}ten (?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember))(?!\p{L})/gu,
      say: 'hat am {} Hochzeitstag',
      topic: 'wedding',
    },
    {
      said: /(?<!\p{L})(?:[Hh]abe? )(?:ich )?(?:\p{L}+ ){0,3}mit dem (?<value>Rauchen|Trinken|Alkohol) aufgehört/gu,
      say: 'hat mit dem {} aufgehört',
    },
    {
      said: /(?<!\p{L})(?<value>\p{Lu}\p{L}{2,}),? (?:da|dagegen|gegen die|darauf) bin ich (?:leider |auch )?allergisch/gu,
      say: 'ist allergisch gegen {}',
    },
    {
      said: /(?<!\p{L})[Mm]eine[nr]? (?<value>\p{Lu}\p{Ll}{2,30}(?:allergie|intoleranz|unverträglichkeit)|Allergie gegen \p{Lu}\p{L}+)/gu,
      say: 'hat eine {}',
    },
    {
      said: /(?<!\p{L})(?<!(?:gegen|für) )(?:[Mm]ein|[Mm]eine[mnr]?) (?<value>Asthma|Diabetes|Rheuma|Migräne|Heuschnupfen|Bluthochdruck|Neurodermitis|Epilepsie|Arthrose|Tinnitus|Schuppenflechte|Zöliakie|ADHS|Höhenangst|Flugangst)(?!\p{L})/gu,
      say: 'hat {}',
    },
    {
      said: /(?<!\p{L})(?:[Mm]ein|[Mm]einem) (?<value>Hörgerät|Rollstuhl|Herzschrittmacher|Schrebergarten|Kleingarten|Wohnwagen|Wohnmobil|Motorrad|Gewächshaus|Segelboot)(?!\p{L})/gu,
      say: 'hat ein(en) {}',
    },
    {
      said: /(?<!\p{L})(?:[Oo]hne|[Bb]loß keine?|[Kk]eine?n?) (?<value>\p{Lu}\p{L}+)(?: bitte| für mich){0,2},? (?:denn )?(?:ich )?(?:(?:bin|reagiere) (?:da )?(?:drauf |darauf |dagegen )?allergisch|(?:vertrage?|esse?|darf|mag) (?:die|das|den|sie|es) (?:gar |leider |einfach )?nicht)/gu,
      say: 'verträgt keine {}',
    },
    {
      said: /(?<!\p{L})[Vv]on (?:einer |einem )?(?<value>\p{Lu}\p{L}+) (?:krieg|bekomm)e? ich (?:\p{L}+ ){0,2}(?<kind>keine Luft|Ausschlag|Migräne|Kopfschmerzen|Sodbrennen|Bauchschmerzen)/gu,
      say: 'bekommt von {} {kind}',
    },
    {
      said: /(?<!\p{L})[Ii]ch (?:krieg|bekomm)e? (?:\p{Ll}+ ){0,2}von (?:einer |einem )?(?<value>\p{Lu}\p{L}+) (?:\p{Ll}+ ){0,1}(?<kind>keine Luft|Ausschlag|Migräne|Kopfschmerzen|Sodbrennen|Bauchschmerzen)/gu,
      say: 'bekommt von {} {kind}',
    },
    {
      said: /(?<!\p{L})(?<value>\p{Lu}\p{L}+) (?:mag|vertrage?|esse?|trinke?|hasse) ich (?:überhaupt |gar |leider |einfach |ja )*nicht(?!\p{L})/gu,
      say: 'mag keine {}',
    },
    {
      said: /(?<!\p{L})(?<value>(?:[Mm]on|[Dd]iens|[Dd]onners|[Ff]rei|[Ss]ams|[Ss]onn)tags|[Mm]ittwochs) (?:habe?|hat) (?:ich|er|sie) (?:immer )?frei(?!\p{L})/gu,
      say: 'hat {} frei',
    },
    {
      said: /(?<!\p{L})(?<value>(?:[Mm]on|[Dd]iens|[Dd]onners|[Ff]rei|[Ss]ams|[Ss]onn)tags|[Mm]ittwochs|[Aa]bends|[Mm]orgens|[Jj]eden \p{Lu}\p{L}+) (?:gehe?|fahre?|spiele?|mache?) ich (?:immer )?(?<kind>(?:zum|zur|ins|in den|in die|nach) \p{Lu}\p{L}+|\p{L}+en)(?=$|[.,!])/gu,
      say: 'geht {} {kind}',
    },
    {
      said: /(?<!\p{L})[Mm]eine? (?:neue )?(?:Nummer|Handynummer|Telefonnummer) ist (?:jetzt )?(?<value>\+?\d[\d -]{5,16}\d)/gu,
      say: 'ist {}',
      topic: 'number',
      relation: 'Nummer',
    },
  ],
  fr: [
    {
      said: /(?<!\p{L})le (?<value>lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) je ne travaille (?:pas|jamais)(?!\p{L})/gu,
      say: 'ne travaille pas le {}',
    },
    {
      said: /(?<!\p{L})(?:[Jj]'ai|[Oo]n a) arrêté (?<value>l'alcool|la cigarette|le tabac|de fumer|de boire|la viande|le sucre|le café)(?!\p{L})/gu,
      say: 'a arrêté {}',
    },
    {
      said: /(?<!\p{L})(?:les|le|la) (?<value>\p{L}{3,}),? (?:moi )?(?:j'y|je) suis allergique(?! (?:à|au))/giu,
      say: 'est allergique : {}',
    },
    { said: /(?<!\p{L})[Mm]on (?<value>allergie (?:au |aux |à la |à l'|à )\p{L}+)/gu, say: 'a une {}' },
    {
      said: /(?<!\p{L})[Mm]on (?<value>asthme|diabète|arthrose|eczéma|appareil auditif|fauteuil roulant|pacemaker|potager|camping-car|bateau)(?!\p{L})/gu,
      say: 'a un {}',
    },
    {
      said: /(?<!\p{L})(?<value>gauch(?:er|ère)|daltonien(?:ne)?|dyslexique|végétarien(?:ne)?|végane?|cœliaque|asthmatique|diabétique) je (?:le )?suis(?!\p{L})/giu,
      say: 'est {}',
    },
    {
      said: /(?<!\p{L})(?:[Ss]ans|[Pp]as de|[Pp]as d') ?(?<value>\p{L}{3,})(?: pour moi| s'il (?:te|vous) plaît){0,2},? (?:parce que |car )?(?:je suis|j'y suis) allergique(?! (?:à|au))/gu,
      say: 'est allergique : {}',
    },
    {
      said: /(?<!\p{L})(?:[Jj]e me suis|[Jj]e m'étais|[Jj]e m'suis) mise? (?<value>(?:à la |à l'|au |aux )\p{L}+)/gu,
      say: "s'est mis {}",
    },
  ],
  es: [
    {
      said: /(?<!\p{L})(?:[Hh]e dejado|[Dd]ejé) (?<value>de fumar|de beber|el alcohol|el tabaco|la carne|el azúcar)(?!\p{L})/gu,
      say: 'ha dejado {}',
    },
    {
      said: /(?<!\p{L})(?:los|las|el|la) (?<value>\p{L}{4,}),? (?:les )?(?:tengo alergia|soy alérgic[oa])(?! al?(?!\p{L}))/giu,
      say: 'es alérgico a {}',
    },
    { said: /(?<!\p{L})[Mm]i (?<value>alergia (?:al |a la |a los |a las |a )\p{L}+)/gu, say: 'tiene {}' },
    {
      said: /(?<!\p{L})[Mm]i (?<value>asma|diabetes|artritis|artrosis|migraña|hipertensión|ciática|audífono|marcapasos|silla de ruedas|huerto|autocaravana|barco)(?!\p{L})/gu,
      say: 'tiene {}',
    },
    {
      said: /(?<!\p{L})(?:[Ee]l|[Ll]a|[Ll]os|[Ll]as) (?<value>\p{L}{4,}) me (?:sientan?|caen?) (?:muy |bastante )?(?:mal|fatal)(?!\p{L})/gu,
      say: 'no tolera {}',
    },
    {
      said: /(?<!\p{L})(?:[Ss]in|[Nn]ada de) (?<value>\p{L}{4,})(?: para mí| por favor){0,2},? (?:porque |que )?soy alérgic[oa](?! a)/gu,
      say: 'es alérgico a {}',
    },
    {
      said: /(?<!\p{L})[Ll]os (?<value>(?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)) no trabajo(?!\p{L})/gu,
      say: 'no trabaja los {}',
    },
    {
      said: /(?<!\p{L})[Mm]e he apuntado (?<value>(?:a un |a una |a |al )\p{L}+)/gu,
      say: 'se ha apuntado {}',
    },
  ],
};

/** A word after "my": group `relation`, if `isRelation` accepts it. */
export const OWN_RELATION: Readonly<Record<Code, RegExp>> = {
  en: /(?<!\p{L})(?:my|our) (?:(?:little|older|younger|big|best|twin|new) )?(?<relation>[\p{L}-]{2,30})/giu,
  de: /(?<!\p{L})(?:[Mm]eine?[mnrs]?|[Uu]nsere?[mnrs]?) (?:\p{Ll}{1,20} )?(?<relation>\p{Lu}\p{Ll}{1,30})/gu,
  fr: /(?<!\p{L})(?:mon|ma|notre) (?:(?:petite?|grande?|meilleure?) )?(?<relation>[\p{L}-]{2,30})/giu,
  es: /(?<!\p{L})(?:mi|nuestr[oa]) (?<relation>[\p{L}-]{2,30})/giu,
};

/** The same after "your". */
export const YOUR_RELATION: Readonly<Record<Code, RegExp>> = {
  en: /(?<!\p{L})your (?:(?:little|older|younger|big|best|twin|new) )?(?<relation>[\p{L}-]{2,30})/giu,
  de: /(?<!\p{L})(?:deine?[mnrs]?|Ihre?[mnrs]?) (?:\p{Ll}{1,20} )?(?<relation>\p{Lu}\p{Ll}{1,30})/gu,
  fr: /(?<!\p{L})(?:ton|ta|votre) (?:(?:petite?|grande?|meilleure?) )?(?<relation>[\p{L}-]{2,30})/giu,
  es: /(?<!\p{L})(?:tu|su) (?<relation>[\p{L}-]{2,30})/giu,
};

const FEMALE =
  /^(?:Mama|Mutti|Nan|mamá|abuela|Schwägerin|Hündin|belle-sœur|petite-fille|soeur|cuñada|esposa|prometida|lapine|wife|girlfriend|fiancée|sister|mother|mum|mom|daughter|stepdaughter|granddaughter|grandmother|grandma|gran|aunt|niece|landlady|Frau|\p{Lu}\p{L}+in|Verlobte|Schwester|Mutter|Tochter|Oma|Tante|Cousine|Nichte|Katze|femme|compagne|copine|fille|mère|maman|sœur|grand-mère|mamie|tante|cousine|nièce|amie|voisine|cheffe|patronne|chienne|chatte|mujer|esposa|novia|hija|madre|mamá|hermana|abuela|tía|prima|sobrina|nieta|amiga|vecina|jefa|casera|perra|gata)$/iu;
const MALE =
  /^(?:Papa|Vati|Papy|Grandad|papá|abuelo|husband|boyfriend|fiancé|brother|father|dad|son|stepson|grandson|grandfather|grandpa|uncle|nephew|landlord|Mann|Freund|Partner|Verlobter|Chef|Bruder|Vater|Sohn|Opa|Onkel|Cousin|Neffe|Enkel|Nachbar|Vermieter|Kollege|Hausarzt|Zahnarzt|Hund|Kater|mari|compagnon|copain|fils|père|papa|frère|grand-père|papi|oncle|cousin|neveu|ami|voisin|patron|chien|chat|marido|esposo|novio|hijo|padre|papá|hermano|abuelo|tío|primo|sobrino|nieto|amigo|vecino|jefe|casero|perro|gato)$/iu;
const SHE = new Set(['she', 'sie', 'elle', 'ella']);

/** Returns whether a word for a relation is female. */
export function isFemale(relation: string): boolean {
  return FEMALE.test(relation);
}

/** Returns whether a third-person pronoun can stand for somebody with this relation. */
export function agrees(pronoun: string, relation: string): boolean {
  return !(SHE.has(pronoun.toLowerCase()) ? MALE : FEMALE).test(relation);
}
