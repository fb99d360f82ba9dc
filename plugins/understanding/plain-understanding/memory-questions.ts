/** Facts that are stated by a question and its answer together: "Any allergies?" "Yes, penicillin." */

export interface Question {
  question: RegExp;
  /** The answer, from another speaker than the question. */
  answer: RegExp;
  say: string;
  topic?: string;
  /** About a person, animal or thing of theirs: `birthday`. */
  relation?: string;
  /** About the person named in the question or the one who asks, not about the one who answers. */
  isOfOther?: boolean;
}

const ALLERGIES = /\b(?:any (?:known )?allergies|allergic to any\p{L}*|any allergy)(?!\p{L})/iu;
const ILLNESSES =
  /\b(?:any (?:other )?(?:medical )?(?:conditions|illnesses|health problems)|conditions we should)(?!\p{L})/iu;
const MEDICINES =
  /\b(?:what are you taking|are you (?:taking|on) any(?:thing| medic\p{L}+| tablets)|any (?:regular )?medic(?:ation|ines?)|which (?:medic\p{L}+|tablets))(?!\p{L})/iu;
const CHILDREN =
  /\b(?:any|have) (?:kids|children|siblings)|(?:got|have) (?:any )?(?:brothers|sisters|kids|children)(?!\p{L})/iu;
const DIET = /\bare you (?:still )?(?:a )?(?:vegetarian|vegan)|\bdo you eat meat(?!\p{L})/iu;
const ORIGIN = /\bwhere (?:are|were) you (?:originally )?(?:from|born)|where do you come from(?!\p{L})/iu;
const HOME = /\bwhere do you live(?: now)?(?!\p{L})/iu;

const YES = /^(?:yes|yeah|yep|I am|I do|ja|genau|immer noch|oui|toujours|sí|claro)(?!\p{L})/iu;
const NO = /^(?:no|nope|never|nein|nie|non|jamais|nunca)(?!\p{L})/iu;
const GERMAN_ALLERGIES =
  /(?<!\p{L})(?:Allergien|allergisch gegen (?:etwas|irgendetwas|irgendwas|\p{L}+)|Unverträglichkeiten)(?!\p{L})/iu;
const FRENCH_ALLERGIES =
  /(?<!\p{L})allergique à (?:quelque chose|quoi que ce soit|un médicament|des médicaments)|(?:des|une|d'autres|d') ?allergies?(?!\p{L})/iu;
const SPANISH_ALLERGIES =
  /(?<!\p{L})alérgic[oa] a (?:algo|alg[uú]n\p{L}* \p{L}+)|(?:alguna|tienes?|otras?) alergias?(?!\p{L})/iu;

export const QUESTIONS: readonly Question[] = [
  {
    question: GERMAN_ALLERGIES,
    answer: /^(?:gegen|auf) (?<value>\p{Lu}\p{L}+)/iu,
    say: 'ist allergisch gegen {}',
  },
  {
    question: FRENCH_ALLERGIES,
    answer: /^(?:à la |à l'|aux? )(?<value>\p{L}+)/iu,
    say: 'est allergique : {}',
  },
  {
    question: SPANISH_ALLERGIES,
    answer: /^(?:al? )(?:la |los |las )?(?<value>\p{L}+)/iu,
    say: 'es alérgico a {}',
  },
  {
    question:
      /(?<!\p{L})(?:isst|lebst) du (?:eigentlich |denn |immer )*(?:noch )?(?<value>vegan|vegetarisch)/iu,
    answer: YES,
    say: 'lebt {}',
  },
  { question: /(?<!\p{L})tu es (?:toujours )?(?<value>végétarienne?|végane?)/iu, answer: YES, say: 'est {}' },
  {
    question: /(?<!\p{L})(?:sigues siendo|eres|sos) (?<value>vegetarian[oa]|vegan[oa])/iu,
    answer: YES,
    say: 'es {}',
  },
  {
    question: /(?<!\p{L})do you (?:still )?(?<value>smoke|drive)(?= ?\?| at all)/iu,
    answer: NO,
    say: 'does not {}',
  },
  { question: /(?<!\p{L})(?:rauchen Sie|rauchst du)(?!\p{L})/iu, answer: NO, say: 'raucht nicht' },
  { question: /(?<!\p{L})(?:vous fumez|fumez-vous|tu fumes)(?!\p{L})/iu, answer: NO, say: 'ne fume pas' },
  { question: /¿(?:usted )?(?:fuma|fumas)(?: usted)?\?/iu, answer: NO, say: 'no fuma' },
  {
    question:
      /(?<!\p{L})(?:haben Sie|hast du|habt ihr) (?:eigentlich |denn )?(?:Kinder|Geschwister)(?!\p{L})/iu,
    answer: /^ja,? (?<value>(?:einen|eine|zwei|drei|vier|fünf) \p{Lu}\p{L}+)/iu,
    say: 'hat {}',
  },
  {
    question: /(?<!\p{L})(?:vous avez|tu as|avez-vous|as-tu) des (?:enfants|frères)/iu,
    answer: /^oui,? (?<value>(?:un|une|deux|trois|quatre) (?!ans)\p{L}+)/iu,
    say: 'a {}',
  },
  {
    question: /(?<!\p{L})(?:tiene|tienes) (?:usted )?(?:hijos|hermanos)/iu,
    answer: /^sí,? (?<value>(?:un|una|dos|tres|cuatro) \p{L}+)/iu,
    say: 'tiene {}',
  },
  { question: ALLERGIES, answer: /^yes,? (?:to )?(?<value>\p{L}+)/iu, say: 'is allergic to {}' },
  { question: ALLERGIES, answer: /^(?:just )?(?<value>\p{L}+),? yes/iu, say: 'is allergic to {}' },
  {
    question: ALLERGIES,
    answer: /^(?:only|just) (?:to )?(?<value>\p{L}+)(?=[,.]|$)/iu,
    say: 'is allergic to {}',
  },
  {
    question:
      /\b(?:Allergien|allergisch gegen (?:etwas|irgendetwas|irgendwas|\p{L}+)|Unverträglichkeiten)(?!\p{L})/iu,
    answer: /^ja,? (?:nur )?(?:gegen |auf )?(?<value>\p{Lu}\p{L}+)/u,
    say: 'ist allergisch gegen {}',
  },
  {
    question:
      /\b(?:Allergien|allergisch gegen (?:etwas|irgendetwas|irgendwas|\p{L}+)|Unverträglichkeiten)(?!\p{L})/iu,
    answer: /^Ja,? (?:nur )?(?:gegen |auf )?(?<value>\p{Lu}\p{L}+)/u,
    say: 'ist allergisch gegen {}',
  },
  {
    question:
      /\ballergique à (?:quelque chose|quoi que ce soit|un médicament|des médicaments)|(?:des|une|d'autres|d') ?allergies?(?!\p{L})/iu,
    answer: /^oui,? (?:à la |à l'|aux? |à )?(?<value>\p{L}+)/iu,
    say: 'est allergique à {}',
  },
  {
    question: /\balérgic[oa] a (?:algo|alg[uú]n\p{L}* \p{L}+)|(?:alguna|tienes?|otras?) alergias?(?!\p{L})/iu,
    answer: /^sí,? (?:al? |a la |a los |a las )?(?:el |la |los |las )?(?<value>\p{L}+)/iu,
    say: 'es alérgico a {}',
  },
  {
    question: ILLNESSES,
    answer:
      /^(?:yes,? |well,? |just |only )*(?:I have |I've got |I have got )?(?<value>(?:type (?:one|two|1|2) diabetes|diabetes|asthma|high blood pressure|epilepsy|migraines|arthritis|a heart condition|eczema|an? [\p{L} ]{3,20} condition)(?!\p{L}))/iu,
    say: 'has {}',
  },
  {
    question:
      /(?<!\p{L})(?:Vorerkrankungen|chronische\p{L}* (?:Krankheit\p{L}*|Erkrankung\p{L}*))(?!\p{L})/iu,
    answer:
      /^(?:ja,? |nur |ich habe )*(?<value>(?:Asthma|Diabetes|Bluthochdruck|Rheuma|Epilepsie|Migräne|Arthrose|Heuschnupfen|Neurodermitis)(?!\p{L}))/iu,
    say: 'hat {}',
  },
  {
    question: /(?<!\p{L})(?:antécédents|maladies? chroniques?|problèmes? de santé)(?!\p{L})/iu,
    answer:
      /^(?:oui,? )?(?:j'ai )?(?<value>(?:de l'asthme|du diabète|de l'hypertension|de l'épilepsie|des migraines|de l'arthrose)(?!\p{L}))/iu,
    say: 'a {}',
  },
  {
    question: /(?<!\p{L})(?:antecedentes|enfermedad(?:es)?|problemas? de salud)(?!\p{L})/iu,
    answer:
      /^(?:sí,? )?(?:tengo |soy )?(?<value>(?:asma|diabetes|hipertensión|epilepsia|migrañas|artritis|artrosis)(?!\p{L}))/iu,
    say: 'tiene {}',
  },
  {
    question: MEDICINES,
    answer:
      /^(?:yes,? |just |only |I'm on |I take )*(?<value>(?!nothing|none|vitamins?|twice|these|those)\p{L}{5,20})(?=[,.]|$| (?:once|twice|every|for|and|in the)(?!\p{L}))/iu,
    say: 'takes {}',
  },
  {
    question:
      /(?<!\p{L})(?:Nehmen Sie|nimmst du|welche) (?:\p{L}+ ){0,3}(?:Medikamente|Tabletten)(?!\p{L})/iu,
    answer:
      /^(?:ja,? |nur |Ja,? )*(?<value>(?!nichts|keine|nein|gerade|eigentlich|immer)\p{L}{5,20})(?= seit| gegen| für| wegen|$|[.,])/u,
    say: 'nimmt {}',
  },
  {
    question:
      /(?<!\p{L})(?:prenez|prends|suivez)[- ](?:vous|tu)?(?: \p{L}+){0,3} (?:médicaments?|traitement)(?!\p{L})/iu,
    answer:
      /^(?:oui,? )(?:je prends )?(?:du |de la |de l'|des )?(?<value>(?!mais|pour|tous)\p{L}{5,20})(?=[,.]|$| (?:pour|le|une|deux|tous)(?!\p{L}))/iu,
    say: 'prend {}',
  },
  {
    question: /(?<!\p{L})(?:toma|tomas) (?:\p{L}+ ){0,2}(?:medicamentos?|medicación|pastillas?)(?!\p{L})/iu,
    answer:
      /^(?:sí,? )(?:tomo )?(?<value>(?!pero|para|todos)\p{L}{5,20})(?=[,.]|$| (?:para|una|dos|por|cada)(?!\p{L}))/iu,
    say: 'toma {}',
  },
  {
    question: CHILDREN,
    answer:
      /^(?:yes,? |yeah,? |I have |I've got |we have |we've got )*(?<value>(?:an?|one|two|three|four|five) (?:\p{L}+ )?(?:boys?|girls?|kids|children|sons?|daughters?|brothers?|sisters?)(?!\p{L}))/iu,
    say: 'has {}',
  },
  {
    question: /(?<!\p{L})(?:haben Sie|hast du|habt ihr) (?:\p{L}+ ){0,2}(?:Kinder|Geschwister)(?!\p{L})/iu,
    answer:
      /^(?:ja,? )?(?<value>(?:eine?n?|zwei|drei|vier|fünf) (?:\p{Ll}+ )?(?:Kinder|Kind|Töchter|Söhne|Mädchen|Jungs|Jungen|Sohn|Tochter|Bruder|Brüder|Schwestern?)(?!\p{L}))/iu,
    say: 'hat {}',
  },
  {
    question: /(?<!\p{L})(?:des|d') ?(?:enfants|frères|sœurs)(?!\p{L})/iu,
    answer:
      /^(?:oui,? )?(?:j'ai |j'en ai )?(?<value>(?:une?|deux|trois|quatre) (?:enfants?|filles?|fils|garçons?|frères?|sœurs?)(?!\p{L}))/iu,
    say: 'a {}',
  },
  {
    question: /(?<!\p{L})tienes? (?:hijos|hermanos)(?!\p{L})/iu,
    answer:
      /^(?:sí,? )?(?:tengo )?(?<value>(?:una?|dos|tres|cuatro) (?:hij[oa]s?|herman[oa]s?|niñ[oa]s?)(?!\p{L}))/iu,
    say: 'tiene {}',
  },
  {
    question: DIET,
    answer: /^(?:yes,? |no,? |well,? )*(?<value>vegan|vegetarian)(?: now)?/iu,
    say: 'is {}',
    topic: 'diet',
  },
  {
    question: ORIGIN,
    answer:
      /^(?:I'm |I am |I come |originally |from |in )*(?<value>\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?)(?=[,.!]|$)/u,
    say: 'is from {}',
    topic: 'origin',
  },
  {
    question: HOME,
    answer:
      /^(?:In|I live in|We live in|We're in|Over in) (?<value>\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?)(?=[,.!]|$)/u,
    say: 'lives in {}',
    topic: 'home',
  },
  {
    question: /(?<!\p{L})(?:woher|wo) (?:kommst du|kommen Sie|stammst du|stammen Sie)(?!\p{L})/iu,
    answer: /^(?:[Uu]rsprünglich )?(?:[Aa]us )(?<value>\p{Lu}\p{Ll}+)/u,
    say: 'kommt aus {}',
    topic: 'origin',
  },
  {
    question: /(?<!\p{L})wo (?:wohnst du|wohnen Sie|wohnt ihr)(?!\p{L})/iu,
    answer: /^(?:[Ii]n )(?<value>\p{Lu}\p{Ll}+)(?=[,.!]|$)/u,
    say: 'wohnt in {}',
    topic: 'home',
  },
  {
    question:
      /(?<!\p{L})(?:(?:tu viens|vous venez) d'où|d'où (?:viens|venez|tu viens|vous venez))(?!\p{L})/iu,
    answer: /^(?:[Jj]e viens )?(?:[Dd]e |[Dd]')(?<value>\p{Lu}\p{Ll}+)/u,
    say: 'vient de {}',
    topic: 'origin',
  },
  {
    question: /(?<!\p{L})de dónde (?:eres|es|sois|son)(?!\p{L})/iu,
    answer: /^(?:[Ss]oy )?(?:[Dd]e )(?<value>\p{Lu}\p{Ll}+)/u,
    say: 'es de {}',
    topic: 'origin',
  },
  {
    question: /\bwhen is (?<name>\p{L}+)['’]s birthday/iu,
    answer:
      /^(?<value>the \p{L}+ of \p{L}+|(?:January|February|March|April|May|June|July|August|September|October|November|December) \p{L}+)/iu,
    say: 'is on {}',
    relation: 'birthday',
    topic: 'day',
    isOfOther: true,
  },
  {
    question: /\bwhen(?:'s| is) your birthday/iu,
    answer:
      /^(?:it's )?(?:on )?(?<value>the \p{L}+ of \p{L}+|(?:January|February|March|April|May|June|July|August|September|October|November|December) (?:the )?\p{L}+)/iu,
    say: 'is on {}',
    relation: 'Birthday',
    topic: 'day',
  },
  {
    question: /\bwann habe? ich (?:\p{L}+ ){0,2}Geburtstag/iu,
    answer:
      /\b(?<value>am \p{L}+(?:ten|sten)(?: (?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember))?)(?!\p{L})/iu,
    say: 'ist {}',
    relation: 'Geburtstag',
    topic: 'day',
    isOfOther: true,
  },
  {
    question: /\bwann (?:hast du|haben Sie) (?:\p{L}+ ){0,2}Geburtstag/iu,
    answer:
      /^(?:ich habe )?(?<value>am \p{L}+(?:ten|sten)(?: (?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember))?)(?!\p{L})/iu,
    say: 'ist {}',
    relation: 'Geburtstag',
    topic: 'day',
  },
  {
    question: /(?<!\p{L})(?:c'est quand|quand est) (?:ton|votre) anniversaire/iu,
    answer:
      /^(?:c'est )?(?<value>le \p{L}+(?: \p{L}+)? (?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre))/iu,
    say: 'est {}',
    relation: 'Anniversaire',
    topic: 'day',
  },
  {
    question: /(?<!\p{L})(?:cuándo es (?:tu|su) cumpleaños|cuándo cumples?(?: años)?)(?!\p{L})/iu,
    answer:
      /^(?:es )?(?<value>el \p{L}+(?: \p{L}+)? de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre))/iu,
    say: 'es {}',
    relation: 'Cumpleaños',
    topic: 'day',
  },
];
