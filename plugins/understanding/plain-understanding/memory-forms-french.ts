/**
 * The forms of French sentences that state a lasting fact. First-person verbs are read as third-person ones.
 */
import type { Grammar, Predicate } from './memory-form.ts';

const PEOPLE =
  /^(?:beau-frère|belle-sœur|belle-mère|beau-père|cousin|cousine|neveu|nièce|colocataire|collègue|petit-fils|petite-fille|mari|femme|compagnon|compagne|copain|copine|fille|fils|mère|père|maman|papa|sœur|soeur|frère|grand-mère|grand-père|mamie|papi|tante|oncle|ami|amie|voisin|voisine|chef|cheffe|patron|patronne|médecin|dentiste|propriétaire|parents|enfants|filles|garçons)$/iu;
const PARENT =
  /^(?:mari|femme|mère|père|maman|papa|sœur|soeur|frère|grand-mère|grand-père|mamie|papi|tante|oncle|ami|amie)$/iu;
const PET = /^(?:chien|chienne|chat|chatte|cheval|lapin|perroquet|tortue)$/iu;
/** The speaker, or people of theirs. */
const ANYBODY_OF =
  /^(?:|beau-frère|belle-sœur|belle-mère|beau-père|cousin|cousine|neveu|nièce|colocataire|collègue|petit-fils|petite-fille|mari|femme|compagnon|compagne|copain|copine|fille|fils|mère|père|maman|papa|sœur|soeur|frère|grand-mère|grand-père|mamie|papi|tante|oncle|ami|amie|voisin|voisine|chef|cheffe|patron|patronne|médecin|dentiste|propriétaire|parents|enfants|filles|garçons)$/iu;
const NAME = /^(?:Monsieur |Madame |docteur )?\p{Lu}/u;
const PLACE = /^(?:à|en|au|aux|chez|sur) (?:la |le |les |l'|La |Le |Les )?\p{Lu}[\p{L}'-]*/u;

/** First-person verbs by their third-person form. */
const THIRD: Readonly<Record<string, string>> = {
  suis: 'est',
  sommes: 'est',
  ai: 'a',
  avons: 'a',
  habitons: 'habite',
  vis: 'vit',
  vivons: 'vit',
  travaillons: 'travaille',
  bois: 'boit',
  buvons: 'boit',
  mangeons: 'mange',
  fais: 'fait',
  faisons: 'fait',
  prends: 'prend',
  parlons: 'parle',
  cours: 'court',
  viens: 'vient',
  venons: 'vient',
  dors: 'dort',
  apprends: 'apprend',
  vais: 'va',
  allons: 'va',
  conduis: 'conduit',
  sais: 'sait',
  peux: 'peut',
  souffre: 'souffre',
  jouons: 'joue',
  étudie: 'étudie',
};

const PLURAL: Readonly<Record<string, string>> = {
  habite: 'habitent',
  est: 'sont',
  a: 'ont',
  vient: 'viennent',
  travaille: 'travaillent',
};

export const frenchGrammar: Grammar = {
  own: new Set(['je', 'on', 'nous']),
  listener: new Set(['tu']),
  third: new Set(['il', 'elle']),
  polite: 'vous',
  second: {
    es: 'est',
    êtes: 'est',
    as: 'a',
    avez: 'a',
    habites: 'habite',
    habitez: 'habite',
    travailles: 'travaille',
    travaillez: 'travaille',
    prends: 'prend',
    prenez: 'prend',
    vis: 'vit',
    vivez: 'vit',
    fumez: 'fume',
    fumes: 'fume',
  },
  possessives: new Set(['mon', 'ma', 'mes', 'notre', 'nos']),
  adjectives: new Set('petit petite grand grande meilleur meilleure nouveau nouvelle jeune'.split(' ')),
  noFactBefore:
    /(?<!\p{L})(?:si|imagine|imaginons|rêve|rêvé|rêvais|aurais|aurait|voudrais|voudrait|dit|disait|disent|demandé|demande|croyais|pensais|quand|avant|peut-être|autrefois|paraît|prétend|comme quoi)(?!\p{L})/iu,
  asked: /(?:^| )(?:est-ce que|pourquoi|comment|où|qui)$/i,
  turn: / (?:mais|parce que|bref|car) /i,
  end: /[.!?;,…:]| (?:parce que|mais|donc|alors|quand|si|car|comme|depuis que|hein|oui|non|voilà|tu sais|tu vois|et (?:je|tu|il|elle|on|nous|puis|après|ça|mon|ma)|je|tu|il|elle|on|nous|c'est|qui|que|ou|dont)(?!\p{L})/iu,
  looseEnd:
    / (?:le|la|les|un|une|des|du|de|d'|et|ou|à|au|aux|en|dans|sur|pour|avec|que|qui|maintenant|aussi|encore|là|ici|quoi|bien|vraiment|hein)$/iu,
  unclear:
    /^(?:ça|cela|ce|ceci|lui|leur|eux|moi|toi|rien|tout|quelque chose|demain|hier|aujourd'hui|comment|quoi|quand)(?!\p{L})/iu,
  passing:
    /(?<!\p{L})(?:aujourd'hui|ce (?:soir|matin|week-end|mois)|cet après-midi|demain|hier|en ce moment|tout de suite|dans (?:une|cinq|dix|un quart) (?:minutes?|heures?)|(?:la semaine|le mois) prochaine?)(?!\p{L})/iu,
  vagueEnd: / (?:ça|cela|lui|eux)$/i,
  prepare: text =>
    text
      .replace(/(?<!\p{L})j'/giu, 'je ')
      .replaceAll(/(?<!\p{L})n'|(?<!\p{L})ne (?=\p{L})/giu, '')
      .replace(/^(?=suis |habite |déteste |adore )/i, 'je '),
  follow: rest => {
    const plain = rest
      .replace(/^ (?:me |m'|nous )(?=suis |sommes )/iu, ' ')
      .replaceAll(
        / (?:quand même|aussi|toujours|vraiment|plutôt|malheureusement|en fait|encore|très|gravement)(?= )/giu,
        '',
      );
    return plain.replace(
      /^ (\p{L}+)/u,
      (whole, verb: string) => ` ${THIRD[verb.toLowerCase()] ?? verb}` || whole,
    );
  },
  theirs: (name, relation) => `${relation} de ${name}`,
  plural: text =>
    text.replace(/ (habite|est|a|vient|travaille)(?!\p{L})/u, (_, verb: string) => ` ${PLURAL[verb]}`),
};

export const FRENCH_PREDICATES: readonly Predicate[] = [
  {
    of: ANYBODY_OF,
    after: /^ est (?<value>en (?:maison de retraite|Ehpad|EHPAD|résidence)(?: .+)?)/u,
    say: 'est {}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after: /^ (?<value>(?:est|sont) (?:allergiques?|intolérante?s?) (?:au |aux |à ).+)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?<value>est (?:végétarien|végétarienne|végan|végane|vegan|diabétique|asthmatique|gaucher|gauchère|daltonien|daltonienne|dyslexique|épileptique|cœliaque|divorcée?|veuf|veuve|retraitée?|à la retraite|célibataire|enceinte|sourde?|malentendante?|fils unique|fille unique|catholique|musulmane?|juif|juive|protestante?|bouddhiste|bilingue|en fauteuil roulant)(?!\p{L})(?: depuis .+)?)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?<value>est (?:un |une )?(?:prof|professeure?|enseignante?|instituteur|institutrice|maîtresse|infirmier|infirmière|médecin|docteur|dentiste|kiné|pharmacien|pharmacienne|avocate?|notaire|juge|comptable|ingénieure?|architecte|informaticien|informaticienne|développeur|développeuse|graphiste|journaliste|traducteur|traductrice|coiffeur|coiffeuse|boulanger|boulangère|boucher|cuisinier|cuisinière|serveur|serveuse|vendeur|vendeuse|plombier|électricien|électricienne|menuisier|maçon|peintre|jardinier|agriculteur|agricultrice|paysan|vigneron|pompier|policier|policière|gendarme|militaire|pilote|chauffeur|facteur|factrice|secrétaire|bibliothécaire|libraire|musicien|musicienne|acteur|actrice|photographe|étudiante?|chercheur|chercheuse|psychologue|sage-femme|vétérinaire|fonctionnaire|mécanicien|mineur|ouvrier|ouvrière|couturière|tailleur)(?!\p{L})(?: (?:de|d'|en|à|au|aux|dans) ?.+)?)/u,
    say: '{}',
    topic: 'work',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after: /^ (?:habite|vit|habitent|vivent) (?:maintenant |désormais )?(?<value>(?:à|en|au|aux|sur) .+)/u,
    say: 'habite {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    after:
      /^ (?:a|est) (?:déménagée?s?|emménagée?s?|installée?s?|venue?s? vivre|partie?s? vivre) (?<value>(?:à|en|au|aux) .+)/u,
    say: 'habite {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    of: ANYBODY_OF,
    after: /^ est mariée?s? (?<value>depuis .+|avec .+)/u,
    say: 'est en couple {}',
    maxWords: 4,
  },
  {
    of: ANYBODY_OF,
    after: /^ vit (?<value>seule?|en colocation|avec .+)(?!\p{L})/u,
    say: 'vit {}',
    maxWords: 4,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?:a|ont) (?<value>(?:une?|deux|trois|quatre|cinq|six) (?:petite? |grande? |autre )?(?:enfants?|filles?|fils|garçons?|frères?|sœurs?|soeurs?|jumeaux|jumelles|petits-enfants|chiens?|chats?|chevaux|cheval|jardin|bateau|caravane|maison (?:à|en|au) \p{Lu}\p{L}+)(?!\p{L})(?: qui s'appellen?t? \p{Lu}\p{L}+)?)/u,
    say: 'a {}',
    maxWords: 7,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?:a|fait) (?<value>(?:de l'asthme|du diabète|le diabète|de la tension|de l'hypertension|le vertige|des migraines|de l'eczéma|un pacemaker|une maladie .+|le rhume des foins|la maladie de \p{Lu}.+|une allergie .+|peur (?:de |du |des |d').+|mal au dos depuis .+))/u,
    say: 'a {}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ travaill(?:e|ent) (?<value>(?:comme|chez|de chez|depuis chez|dans|pour|au|aux|à|à la|à l'|en tant que|de nuit|la nuit|à mi-temps) ?.+)/u,
    say: 'travaille {}',
    topic: 'employer',
    maxWords: 6,
  },
  {
    after: /^ (?<value>aime (?:pas|plus) (?:le |la |les |l')\p{L}.+)/u,
    say: "n'{}",
    maxWords: 5,
  },
  {
    after:
      /^ (?<value>(?:mange|boit|supporte|digère|fume|conduit) (?:pas|plus|jamais) (?:de |d'|du |le |la |les |l')\p{L}.+)/u,
    say: 'ne {}',
    maxWords: 6,
  },
  { after: /^ (?<value>(?:fume|boit|conduit) (?:pas|plus|jamais))(?! \p{L})/u, say: 'ne {}' },
  {
    after:
      /^ (?<value>(?:sait|peut) pas (?:nager|conduire|cuisiner|manger de .+|manger d'.+|boire de .+|faire du vélo|chanter))/u,
    say: 'ne {}',
    maxWords: 6,
  },
  {
    after:
      /^ (?:a) (?<value>(?:pas|plus) (?:de |d')(?:voiture|permis|enfants|télé|télévision|portable|voitures|frères|sœurs|animaux))/u,
    say: "n'a {}",
  },
  {
    after: /^ (?<value>(?:adore|déteste) (?:le |la |les |l')\p{L}.+)/u,
    say: '{}',
    maxWords: 4,
  },
  { after: /^ (?<value>joue (?:du |de la |de l'|au |aux )\p{L}.+)/u, say: '{}', maxWords: 4 },
  {
    after:
      /^ parle (?:couramment |un peu |bien )?(?<value>(?:le |l')?(?:français|anglais|allemand|espagnol|italien|portugais|polonais|russe|arabe|turc|chinois|japonais|néerlandais|roumain|grec|breton|basque|catalan|wolof|suédois)(?: et (?:français|anglais|allemand|espagnol|italien|portugais|polonais|russe|arabe|turc))?)/u,
    say: 'parle {}',
  },
  {
    after:
      /^ apprend (?<value>(?:le |la |l')(?:piano|violon|guitare|français|anglais|allemand|espagnol|italien|portugais|polonais|russe|arabe|japonais|chinois|langue des signes))/u,
    say: 'apprend {}',
  },
  { after: /^ est née? (?<value>(?:à|en|au|aux|le) .+)/u, say: 'est né {}', topic: 'birth', maxWords: 5 },
  {
    after: /^ a grandi (?<value>(?:à|en|au|aux|dans|sur) .+)/u,
    say: 'a grandi {}',
    topic: 'childhood',
    maxWords: 5,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?:vient|viennent|est originaire|sont originaires) (?<value>(?:de |d'|du |des )(?:la |l')?\p{Lu}\p{L}+)/u,
    say: 'vient {}',
    topic: 'origin',
  },
  {
    after:
      /^ (?<value>prend (?:des cachets|des comprimés|un traitement|des médicaments|de l'insuline|des anticoagulants|de la .+|du .+) (?:pour|contre) .+)/u,
    say: '{}',
    maxWords: 8,
  },
  {
    after: /^ (?:fait|suit) des études (?<value>(?:de |d'|en ).+)/u,
    say: 'fait des études {}',
    topic: 'studies',
    maxWords: 4,
  },
  {
    after: /^ étudie (?<value>(?:le |la |l'|les )\p{L}.+)/u,
    say: 'étudie {}',
    topic: 'studies',
    maxWords: 3,
  },
  { after: /^ collectionne (?<value>les .+)/u, say: 'collectionne {}', maxWords: 4 },
  {
    after:
      /^ (?<value>(?:va|fait|court|nage|joue|chante|danse|marche|travaille) .*(?:tous les (?:jours|matins|soirs|lundis|mardis|mercredis|jeudis|vendredis|samedis|dimanches|étés|hivers)|chaque (?:jour|matin|semaine|dimanche|été)))/u,
    say: '{}',
    maxWords: 10,
  },
  {
    after:
      /^ (?<value>est dans (?:l'équipe|le club|la chorale|un groupe|une chorale|un orchestre|l'orchestre|une troupe)(?: (?:de |d')\p{L}+)?)/u,
    say: '{}',
  },
  { after: /^ (?<value>chante dans .+)/u, say: '{}', maxWords: 5 },
  {
    of: PEOPLE,
    after: /^ s'appelle(?:nt)? (?<value>.+)/u,
    say: "s'appelle {}",
    topic: 'name',
    holds: NAME,
    maxWords: 2,
  },
  {
    of: PET,
    after: /^ s'appelle (?<value>.+)/u,
    say: "s'appelle {}",
    topic: 'name',
    holds: NAME,
    maxWords: 1,
  },
  {
    of: PEOPLE,
    after: /^ (?:c')?est (?<value>(?:Monsieur|Madame|le docteur) \p{Lu}\p{L}+)/u,
    say: "s'appelle {}",
  },
  { of: PEOPLE, after: /^ (?<value>\p{Lu}\p{Ll}+)(?! \p{Lu})/u, say: "s'appelle {}", maxWords: 1 },
  { of: PARENT, after: /^ est (?<value>morte?|décédée?)(?!\p{L})/u, say: 'est {}', topic: 'life' },
  {
    of: PARENT,
    after: /^ était (?<value>\p{L}+)(?: |$)/u,
    say: 'était {}',
    holds: /(?:eur|euse|ier|ière|ien|ienne|iste|aire|eure|prof|maçon)$/u,
  },
  { of: PEOPLE, after: /^ a (?<value>\p{L}+ ans)(?!\p{L})/u, say: 'a {}', topic: 'age' },
  {
    of: /^anniversaire$/i,
    after: /^ (?:c'est|est) (?<value>(?:le|en) .+)/u,
    say: 'est {}',
    topic: 'day',
    maxWords: 3,
  },
  {
    of: /^(?:plat|couleur|livre|film|groupe|chanteur|équipe|saison|dessert|fruit)$/i,
    after: /^ préférée? (?:c'est|est) (?<value>.+)/u,
    say: ': {}',
    maxWords: 5,
  },
  { of: /^langue$/i, after: /^ maternelle (?:c'est|est) (?<value>.+)/u, say: 'maternelle : {}', maxWords: 4 },
];
