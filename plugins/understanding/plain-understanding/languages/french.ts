import { phrases, table, withoutAccents, words } from '../tokens.ts';
import type { Holiday, Language, Verb } from './language.ts';

const SMALL =
  'un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf'.split(
    ' ',
  );
const TENS: [string, number][] = [
  ['vingt', 20],
  ['trente', 30],
  ['quarante', 40],
  ['cinquante', 50],
];
const WEEKDAYS = 'lundi mardi mercredi jeudi vendredi samedi dimanche'.split(' ');
const MONTHS =
  'janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre'.split(
    ' ',
  );
const PARTS: [string, number][] = [
  ['matin', 9 * 60],
  ['midi', 12 * 60],
  ['après midi|aprèm|apres midi', 15 * 60],
  ['soir', 20 * 60],
];

/** Hyphens are not part of words. */
const NUMBERS: [string, number][] = [
  ...SMALL.map((word, index): [string, number] => [word.replace('-', ' '), index + 1]),
  ['une', 1],
  ...TENS.flatMap(([tens, value]) => [
    [tens, value] as [string, number],
    [`${tens} et un|${tens} et une`, value + 1] as [string, number],
    ...SMALL.slice(1, 9).map((unit, index): [string, number] => [`${tens} ${unit}`, value + index + 2]),
  ]),
];

const STRONG = `acheter ajouter aller amener annuler appeler apporter arroser chercher changer commander confirmer contacter copier
  corriger couper cuisiner demander déposer donner écrire emmener emporter emprunter envoyer essayer étiqueter faire fermer
  finir fixer imprimer informer inscrire installer inviter laver livrer louer mettre nettoyer noter nourrir organiser ouvrir
  passer payer peindre planter poser poster préparer prendre prévenir prêter ramener ranger rapporter rappeler récupérer régler
  relancer remettre remplacer remplir rendre renvoyer réparer répondre réserver résilier retirer retourner réviser scanner
  sécher signer signaler sortir télécharger téléphoner terminer transférer transmettre trouver vérifier verser vendre vider
  virer changer photocopier déclarer renouveler repasser recoudre remercier raccrocher avertir tondre tailler cueillir monter porter
  relire rédiger résumer publier diffuser distribuer féliciter négocier rembourser gonfler déboucher purger vernir percer visser
  désherber semer récolter brosser vacciner rincer éplucher congeler décongeler plastifier agrafer numériser contester réclamer
  expédier fournir soumettre
  poncer réchauffer étendre recontacter transférer garder
  obtenir trier classer archiver convoquer consulter contrôler créer décaler déplacer démonter débrancher découper dessiner effacer
  emballer enlever enregistrer entretenir essuyer éteindre évaluer examiner exporter facturer fabriquer filmer frotter graver
  graisser griller insérer intégrer jeter joindre lancer lister marquer mélanger mesurer modifier ôter peler peser
  photographier placer plier présenter prolonger promener proposer protéger raccompagner racheter ramasser rassembler
  recharger rechercher recommander recopier rectifier recruter réduire refaire regrouper relever remonter renseigner repeindre
  reporter repousser reprendre reproduire résoudre retrouver réunir saisir sauvegarder sceller séparer servir souder
  stocker supprimer surveiller taper teindre tester traduire traiter tricoter valider voter garer gérer accrocher afficher aiguiser
  allumer arracher assembler assurer attacher avancer balayer aspirer bloquer débloquer boucher brancher clouer coller
  compléter compter cirer coudre creuser cuire débarrasser décorer défaire dégivrer démarcher détacher emballer encadrer enfourner
  épousseter équiper estimer étaler expliquer faxer ficeler fouiller garnir habiller héberger hisser huiler initialiser
  réessayer réécrire réimprimer réinstaller réactiver réutiliser recalculer recharger recoller recoudre recouper
      redemander rediriger redonner reformuler reloger remesurer repayer replanter replier reposer représenter resserrer
      revérifier revisser inspecter interroger isoler justifier laisser lustrer mixer nouer ouvrir planifier plâtrer pomper`;
const WEAK = 'faire mettre dire lire montrer garder tenir monter prendre passer chercher donner parler';
const STATES = `aller arriver attendre boire courir dormir être manger marcher nager partir penser regarder rentrer
  rester revenir travailler venir voir jouer sortir`;
const IRREGULAR_PRESENT: Readonly<Record<string, string>> = {
  appeler: 'appelle',
  rappeler: 'rappelle',
  acheter: 'achète',
  amener: 'amène',
  emmener: 'emmène',
  ramener: 'ramène',
  renouveler: 'renouvelle',
  envoyer: 'envoie',
  renvoyer: 'renvoie',
  payer: 'paie|paye',
  nettoyer: 'nettoie',
  récupérer: 'récupère',
  régler: 'règle',
  prendre: 'prends',
  mettre: 'mets',
  remettre: 'remets',
  transmettre: 'transmets',
  soumettre: 'soumets',
  relire: 'relis',
  faire: 'fais',
  écrire: 'écris',
  inscrire: 'inscris',
  dire: 'dis',
  lire: 'lis',
  aller: 'vais',
  venir: 'viens',
  revenir: 'reviens',
  prévenir: 'préviens',
  tenir: 'tiens',
  voir: 'vois',
  partir: 'pars',
  sortir: 'sors',
  dormir: 'dors',
  rendre: 'rends',
  vendre: 'vends',
  tondre: 'tonds',
  étendre: 'étends',
  répondre: 'réponds',
  attendre: 'attends',
  boire: 'bois',
  être: 'suis',
  ouvrir: 'ouvre',
  cueillir: 'cueille',
  recoudre: 'recouds',
  peindre: 'peins',
  courir: 'cours',
  réessayer: 'réessaie|réessaye',
  obtenir: 'obtiens',
  essuyer: 'essuie',
  éteindre: 'éteins',
  jeter: 'jette',
  joindre: 'joins',
  peser: 'pèse',
  promener: 'promène',
  racheter: 'rachète',
  réduire: 'réduis',
  refaire: 'refais',
  défaire: 'défais',
  relever: 'relève',
  repeindre: 'repeins',
  reprendre: 'reprends',
  résoudre: 'résous',
  servir: 'sers',
  teindre: 'teins',
  traduire: 'traduis',
  cuire: 'cuis',
  coudre: 'couds',
  gérer: 'gère',
  protéger: 'protège',
  compléter: 'complète',
  transférer: 'transfère',
};
const IRREGULAR_FUTURE: Readonly<Record<string, string>> = {
  appeler: 'appellerai',
  rappeler: 'rappellerai',
  acheter: 'achèterai',
  amener: 'amènerai',
  emmener: 'emmènerai',
  ramener: 'ramènerai',
  envoyer: 'enverrai',
  renvoyer: 'renverrai',
  payer: 'paierai|payerai',
  nettoyer: 'nettoierai',
  faire: 'ferai',
  aller: 'irai',
  venir: 'viendrai',
  revenir: 'reviendrai',
  prévenir: 'préviendrai',
  tenir: 'tiendrai',
  voir: 'verrai',
  être: 'serai',
  cueillir: 'cueillerai',
  courir: 'courrai',
};
const SUBJUNCTIVES: readonly [string, string][] = [
  ['aille', 'aller'],
  ['fasse', 'faire'],
  ['fasses', 'faire'],
  ['prenne', 'prendre'],
  ['prennes', 'prendre'],
  ['mette', 'mettre'],
  ['mettes', 'mettre'],
  ['remplisse', 'remplir'],
  ['finisse', 'finir'],
  ['écrive', 'écrire'],
  ['inscrive', 'inscrire'],
  ['rende', 'rendre'],
  ['réponde', 'répondre'],
  ['vienne', 'venir'],
  ['prévienne', 'prévenir'],
  ['sorte', 'sortir'],
  ['voie', 'voir'],
];

const verbs: Verb[] = [
  ...[...words(STRONG)].map(infinitive => ({ infinitive, isWeak: false })),
  ...[...words(WEAK)].map(infinitive => ({ infinitive, isWeak: true })),
  ...[...words(STATES)].map(infinitive => ({ infinitive, isWeak: true, isState: true })),
];

function presentOf(infinitive: string): string[] {
  const irregular = IRREGULAR_PRESENT[infinitive];
  if (irregular !== undefined) return irregular.split('|');
  return [infinitive.endsWith('er') ? infinitive.slice(0, -1) : `${infinitive.slice(0, -1)}s`];
}

const IRREGULAR_PARTICIPLES: Readonly<Record<string, string>> = {
  faire: 'fait',
  refaire: 'refait',
  mettre: 'mis',
  remettre: 'remis',
  transmettre: 'transmis',
  soumettre: 'soumis',
  prendre: 'pris',
  reprendre: 'repris',
  dire: 'dit',
  écrire: 'écrit',
  inscrire: 'inscrit',
  ouvrir: 'ouvert',
  lire: 'lu',
  relire: 'relu',
  voir: 'vu',
  tenir: 'tenu',
  obtenir: 'obtenu',
  prévenir: 'prévenu',
  résoudre: 'résolu',
  réduire: 'réduit',
  traduire: 'traduit',
  peindre: 'peint',
  joindre: 'joint',
};

/** "Appelé", "rempli", "rendu". */
function participleOf(infinitive: string): string {
  const stem = infinitive.slice(0, -2);
  return IRREGULAR_PARTICIPLES[infinitive] ?? stem + ({ er: 'é', ir: 'i' }[infinitive.slice(-2)] ?? 'u');
}

function futureOf(infinitive: string): string[] {
  const irregular = IRREGULAR_FUTURE[infinitive];
  if (irregular !== undefined) return irregular.split('|');
  return [`${infinitive.replace(/e$/, '')}ai`];
}

function imperativesOf(infinitive: string): string[] {
  const singular = presentOf(infinitive);
  if (infinitive === 'aller') return ['va', 'allez'];
  if (infinitive === 'faire') return ['fais', 'faites'];
  if (infinitive === 'dire') return ['dis', 'dites'];
  if (infinitive === 'être') return ['sois'];
  if (infinitive === 'prendre') return ['prends', 'prenez'];
  if (infinitive.endsWith('er')) return [...singular, `${infinitive.slice(0, -1)}z`];
  if (infinitive.endsWith('re')) return [...singular, `${infinitive.slice(0, -2)}ez`];
  return [...singular, `${infinitive.slice(0, -1)}ssez`, `${infinitive.slice(0, -2)}ez`];
}

function formsBy(formsOf: (infinitive: string) => string[], weak?: true): [string, Verb][] {
  return verbs.flatMap(verb =>
    formsOf(verb.infinitive).map((form): [string, Verb] => [
      withoutAccents(form),
      weak ? { ...verb, isWeak: true } : verb,
    ]),
  );
}

export const french: Language = {
  code: 'fr',
  stopWords: words(`
    a à ai ah alors après as au aussi autre aux avait avant avec avez avoir avons bah ben bien bon bonjour bonsoir c' ça car ce
    cela ces cet cette ceux chez comme comment d' d'accord dans de déjà depuis des donc dont du elle elles en encore entre
    es est et était étaient été être eu eux fait fais faire faut gens il ils j' je jamais jusque l' la là le les leur leurs lui
    m' ma mais me même mes mieux moi moins mon n' ne ni non nos notre nous on ont ou où oui par parce pas peu peut peux
    plus plutôt pour pourquoi puis qu' quand que quel quelle quelles quels qui quoi rien s' sa sais sait sans se sera ses si
    soit sommes son sont sous suis sur t' ta te tes toi ton toujours tous tout toute toutes très trop tu un une va vais
    vas vers veut veux vient vois voilà voir vont vos votre vous vraiment vrai y euh hein hum merci salut demain hier
    aujourd'hui matin soir semaine jour jours fois chose choses ouais accord quelqu'un quelque quelques beaucoup assez dit dis
    encore maintenant avais aurait aurais serait bref enfin ah tiens allez eh
  `),
  dates: {
    numbers: table(NUMBERS),
    ordinals: table([['premier|1er|première', 1]]),
    weekdays: table(WEEKDAYS.map((name, index) => [name, { weekday: index + 1 }])),
    months: table(MONTHS.map((name, index) => [name, index + 1])),
    days: table([
      ["aujourd'hui|aujourd hui", { days: 0 }],
      ['ce matin', { days: 0, minute: 9 * 60 }],
      ['ce midi', { days: 0, minute: 12 * 60 }],
      ['cet après midi|cette après midi|cet aprèm', { days: 0, minute: 15 * 60 }],
      ['ce soir|cette nuit', { days: 0, minute: 20 * 60 }],
      ['dans la journée|avant la fin de la journée', { days: 0, minute: 18 * 60 }],
      ['demain', { days: 1 }],
      ['demain à la première heure|demain première heure', { days: 1, minute: 9 * 60 }],
      ['après demain|apres demain', { days: 2 }],
    ]),
    parts: table([
      ['le matin|du matin|dans la matinée|en matinée', 9 * 60],
      ['en fin de matinée', 11 * 60],
      ["en début d' après midi", 14 * 60],
      ["en fin d' après midi", 17 * 60],
      ["dans l' après midi|de l' après midi", 15 * 60],
      ['le soir|du soir|dans la soirée', 20 * 60],
      ['fin de journée|en fin de journée', 18 * 60],
      ['après le dîner|après dîner', 20 * 60],
      ['après le déjeuner|après déjeuner', 13 * 60],
    ]),
    dayParts: table(PARTS),
    units: table([
      ['minute|minutes', 'minute'],
      ['heure|heures', 'hour'],
      ['jour|jours', 'day'],
      ['semaine|semaines', 'week'],
      ['mois', 'month'],
    ]),
    lengths: table([
      ['une demi heure|une demie heure', 30],
      ["un quart d' heure", 15],
      ["trois quarts d' heure", 45],
      ['une heure', 60],
      ['une heure et demie', 90],
      ['une minute', 1],
      ['huit jours|une semaine|une huitaine', 7 * 1440],
      ['quinze jours|une quinzaine', 14 * 1440],
      ['un jour', 1440],
    ]),
    within: phrases("dans|d' ici|sous|d' ici à|dans les|dans environ"),
    fromNow: phrases(''),
    periods: table([
      ['cette semaine|dans la semaine|en cours de semaine', 'this week'],
      ['la semaine prochaine|semaine prochaine|après le week end|après le weekend', 'next week'],
      ['le week end|ce week end|week end|le weekend|ce weekend|le week end prochain', 'weekend'],
      ['fin de semaine|la fin de la semaine|fin de la semaine', 'end of week'],
      ['fin du mois|la fin du mois', 'end of month'],
      ['le mois prochain', 'next month'],
      ["fin de l' année|la fin de l' année", 'end of year'],
      ['noël|noel', 'christmas'],
      ["le jour de l' an|le nouvel an", 'new year'],
    ]),
    edges: table([
      ['début|au début de|le début de|en début de|début de', 'start'],
      ['mi|milieu de|au milieu de|le milieu de', 'middle'],
      ['fin|fin de|la fin de|à la fin de|en fin de', 'end'],
    ]),
    stretches: table([
      ['semaine|la semaine|cette semaine', 'this week'],
      ['semaine prochaine|la semaine prochaine', 'next week'],
      ['du mois|mois|ce mois', 'this month'],
      ['du mois prochain|le mois prochain|mois prochain', 'next month'],
      ["l' année|cette année|d' année", 'this year'],
      ["l' année prochaine", 'next year'],
    ]),
    holidays: table<Holiday>([
      ['pâques|paques|dimanche de pâques', { easter: 0 }],
      ['vendredi saint', { easter: -2 }],
      ['lundi de pâques', { easter: 1 }],
      ['mardi gras', { easter: -47 }],
      ["l' ascension|jeudi de l' ascension", { easter: 39 }],
      ['pentecôte|la pentecôte', { easter: 49 }],
      ['lundi de pentecôte', { easter: 50 }],
      ['la saint valentin', { month: 2, day: 14 }],
      ['la toussaint|toussaint', { month: 11, day: 1 }],
      ['la saint sylvestre', { month: 12, day: 31 }],
    ]),
    last: phrases('passé|depuis'),
    every: phrases('chaque|tous les|toutes les|tous les deux|toutes les deux'),
    nextBefore: phrases('prochain'),
    nextAfter: phrases('prochain|qui vient'),
    nextIsNextWeek: false,
    laterBefore: table([
      ['une semaine après', 7],
      ['deux semaines après|quinze jours après', 14],
      ['le lendemain de', 1],
      ['la veille de', -1],
    ]),
    laterAfter: table([
      ["en huit|d' après", 7],
      ['en quinze', 14],
    ]),
    thatBefore: phrases('ce'),
    relativeAfter: table([
      ["d' avant", 'before'],
      ["d' après|suivant", 'after'],
    ]),
    relativeDays: table([
      ['la veille', -1],
      ["le lendemain|le jour d' après|le jour suivant", 1],
      ["une semaine avant|la semaine d' avant", -7],
      ['deux jours avant', -2],
      ['une semaine après|la semaine suivante', 7],
      ["ce jour là|le jour même|la prochaine fois|d' ici là", 0],
    ]),
    dayOfMonth: table([['le|du|au|pour le|avant le|dès le', { isStrong: false }]]),
    hasCardinalDays: true,
    ofMonth: phrases(''),
    at: phrases("à|vers|avant|dès|jusqu' à|pour|de|entre|après|a|avant les"),
    oClock: phrases('heures|heure|h'),
    oClockIsEnough: false,
    halfBefore: table([]),
    quarter: table([]),
    past: phrases(''),
    to: phrases(''),
    hourTails: table([
      ['et demie|et demi|trente', 30],
      ['et quart|quinze', 15],
      ['moins le quart|moins quart', -15],
      ['trois quarts', 45],
    ]),
    minuteJoins: table([['moins', -1]]),
    namedTimes: table([
      ['midi', 12 * 60],
      ['midi et demi|midi et demie', 12 * 60 + 30],
      ['midi et quart', 12 * 60 + 15],
      ['minuit', 24 * 60 - 1],
    ]),
    meridiem: table([
      ['du matin', 'am'],
      ["du soir|de l' après midi", 'pm'],
    ]),
    through: phrases('à|et'),
    corrections: phrases('non attends|non attendez|je veux dire|disons|ou plutôt|non pardon|enfin non'),
    lead: words(
      "le la ce cet cette à au pour avant de du d' ici dans vers dès jusqu' jusque en l' et les donc prochain",
    ),
    counted: words(
      'pour euros ans fois kilos grammes personnes degrés pages minutes mois jours semaines milligrammes comprimés enfants',
    ),
  },
  acts: {
    isVerbLast: false,
    firstPerson: new Map([
      ...SUBJUNCTIVES.map(([form, infinitive]): [string, Verb] => [
        withoutAccents(form),
        { infinitive, isWeak: false },
      ]),
      ...formsBy(presentOf),
      ['occupe', { infinitive: "s'occuper", isWeak: false }],
      ['charge', { infinitive: 'se charger', isWeak: false }],
      ...verbs.flatMap(({ infinitive }) =>
        futureOf(infinitive).map((form): [string, Verb] => [
          withoutAccents(form),
          { infinitive, isWeak: false },
        ]),
      ),
    ]),
    secondPerson: new Map([
      ...formsBy(infinitive => presentOf(infinitive).map(form => (form.endsWith('s') ? form : `${form}s`))),
      ['occupes', { infinitive: "s'occuper", isWeak: false }],
      ['charges', { infinitive: 'se charger', isWeak: false }],
      ...verbs.flatMap(({ infinitive }) =>
        futureOf(infinitive).flatMap(form =>
          ['as', 'ez'].map((ending): [string, Verb] => [
            withoutAccents(form.replace(/ai$/, ending)),
            { infinitive, isWeak: false },
          ]),
        ),
      ),
    ]),
    imperatives: new Map([...formsBy(imperativesOf), ['va', { infinitive: 'aller', isWeak: true }]]),
    infinitives: new Map(verbs.map(verb => [withoutAccents(verb.infinitive), verb])),
    gerunds: new Map(verbs.map(verb => [withoutAccents(participleOf(verb.infinitive)), verb])),
    subject: words("je j'"),
    listener: words('tu vous'),
    clitics: words("te t' vous lui leur le la l' les m' me moi en y nous s' se"),
    particles: words(''),
    promises:
      phrases(`c' est moi qui vais|c' est moi qui dois|c' est moi qui|je vais|je dois|il faut que je|faut que je|je dois encore|
      je pense à|il faut que j'|faut que j'|je vais te|je vais vous|je vais lui|je vais leur|je vais le|je vais la|je vais les|je vais l'|je vais en|je vais y|
      rappelle moi de|rappelle moi d'|rappelez moi de|je dois absolument|je dois aussi|je vais aussi|je n' oublie pas de|j' ai à|je dois penser à|il faudra que je|je tâcherai de|il ne faut pas que j' oublie de|ne pas oublier de|
      j' ai promis de|j' ai promis d'|je promets de|je m' engage à|je me suis engagé à|je me suis engagée à|il me reste à|
      c' est à moi de|c' est mon tour de|je suis censé|je suis censée|il est prévu que je|je ferai en sorte de|je veillerai à|je vais tâcher de|
      je n' oublierai pas de|j' essaierai de|j' essaie de|
      je ne dois pas oublier de|il faut que je pense à|il faut que j'|faut que j'|je vais essayer de|je dois passer`),
    wishes: phrases('je veux|je compte|je devrais|je peux|je voudrais'),
    sharedPromises: phrases(
      "on va|faudrait|faudra|il faudrait qu' on|faudrait qu' on|faut qu' on|on doit|nous allons|nous devons|il faut qu' on|il faut|faut|il faudra|il faudrait",
    ),
    requests:
      phrases(`peux tu|tu peux|pourrais tu|tu pourrais|pouvez vous|vous pouvez|pourriez vous|vous pourriez|il faut que tu|
      il faut que vous|tu dois|vous devez|tu devrais|vous devriez|est ce que tu peux|est ce que vous pouvez|tu veux bien|
      voulez vous bien|je voudrais que tu|faut que tu|tu peux me|peux tu me|pourrais tu me|pouvez vous me|tu pourrais me|il faudrait que tu|
      merci de|veuillez|il faudra|est ce que tu pourrais|est ce que vous pourriez|tu aurais le temps de|est ce que tu aurais le temps de|
      auriez vous le temps de|ça t' embête de|ça te dérange de|ça vous dérange de|ça t' ennuie de|je peux te demander de|je peux vous demander de|tu serais gentil de|tu serais gentille de|vous seriez gentil de|ayez la gentillesse de|
      auriez vous la gentillesse de|auriez vous l' amabilité de|sois gentil de|j' aimerais que tu|j' aurais besoin que tu|j' ai besoin que tu|
      il faudrait que vous|tu étais censé|tu étais censée|tu devais|tu avais promis de|c' est à toi de|merci de bien vouloir|
      ça vous ennuie de|ça t' embêterait de|ça vous embêterait de|est ce qu' il serait possible de|serait il possible de|je vous prie de|je vous demande de|
      je te demande de|je compte sur toi pour|je compte sur vous pour|vous allez devoir|tu vas devoir|n' hésite pas à|tu penseras à|vous penserez à|
      tu crois que tu pourrais|tu te charges de|vous vous chargez de`),
    reminders:
      phrases(`n' oublie pas de|n' oubliez pas de|n' oublie pas d'|n' oubliez pas d'|n' oublie pas|n' oubliez pas|oublie pas de|
      oublie pas|pense à|pensez à|pense bien à|penser à|ne pas oublier de|ne pas oublier|souviens toi de|note pour moi`),
    openRequests:
      phrases(`tu as|t' as|as tu|vous avez|avez vous|tu as déjà|t' as déjà|vous avez déjà|tu as bien|quelqu'un doit|quelqu' un doit|qui peut|il faut|il faudrait|on doit|il manque|il nous faut|il n' y a plus de|
      il me faut|il me faudrait|il faudrait que quelqu'un|il faut que quelqu'un|quelqu'un pourrait|quelqu'un peut|qui veut bien|qui se charge de|qui s' occupe de|qui va|
      il faut aussi|il faudrait aussi|il ne faudrait pas oublier de|il ne faut pas oublier de|il ne faudrait pas oublier d'|on pourrait|
      il n' y a plus d'|on n' a plus de|faut|qui pourrait|j' ai besoin de|on a besoin de|je voudrais`),
    offers: phrases(
      "tu veux que je|vous voulez que je|veux tu que je|voulez vous que je|est-ce que je peux|je peux t'|je peux te|je peux vous",
    ),
    listMarks: phrases(
      'premièrement|deuxièmement|troisièmement|numéro un|numéro deux|numéro trois|numéro quatre|ensuite|puis|et puis|primo|secundo|enfin|aussi|alors|donc',
    ),
    takings:
      phrases(`je m' en occupe|je m' en charge|je le fais|je le ferai|je vais le faire|je m' en occuperai|ce sera fait|c' est noté|
      je peux le faire|je peux la faire|je peux m' en occuper|je peux m' en charger|je m' en chargerai|je vais m' en occuper|je vais m' en charger|
      tu l' auras|vous l' aurez|tu les auras|vous les aurez|tu auras ça|vous aurez ça|ce sera fait|ça sera fait|j' y vais|je prends le relais|je m' y colle|
      je vais y penser|je n' oublierai pas|c' est comme si c' était fait|
      je m' y mets|je prends ça|je fais ça|laisse moi faire|compte sur moi|comptez sur moi|je te fais ça|je vous fais ça|je regarde ça|je vois ça|je vais voir ça|je te règle ça|je m' y colle|je ferai ça|je vais faire ça|j' y penserai`),
    yes: phrases(`pas de souci|pas de soucis|oui|ouais|d' accord|ok|okay|bien sûr|entendu|parfait|très bien|ça marche|pas de problème|volontiers|noté|c' est noté|
      sans problème|aucun problème|sans souci|aucun souci|pas de problème|mais oui|mais bien sûr|c' est entendu|c' est promis|nickel|impeccable|ça roule|carrément|je veux bien|avec joie|zut non|vendu|adjugé|
      bon|compris|bien|évidemment|certainement|avec plaisir|oui oui|oh oui|ah oui|ça va|super|promis|si`),
    refusals:
      phrases(`non|désolé|désolée|je ne peux pas|je peux pas|impossible|pas question|jamais|malheureusement|hors de question|
      je n' ai pas le temps|pas aujourd'hui|je ne veux pas|surtout pas|ah non`),
    done: phrases(`déjà|c' est fait|c' est déjà fait|déjà fait|voilà|tiens|tenez|je l' ai fait|je l' ai déjà|c' est réglé|fait|
      je viens de|hier`),
    cancels:
      phrases(`laisse tomber|laissez tomber|pas la peine|c' est pas la peine|ce n' est pas la peine|inutile|oublie ça|
      oubliez ça|finalement non|non laisse|laisse|pas besoin|plus la peine|tu n' as pas besoin|tant pis|ne t' embête pas|une autre fois|un autre jour|pas maintenant`),
    negations: words('pas jamais rien personne aucun aucune ni non'),
    noPlanBefore:
      phrases(`si|s'|peut être|dit|disait|disais|imagine|imaginons|aurais|aurait|aurions|pourrais bien|voudrais|je cite|
      raconte|un jour|sinon|au cas où|on dirait|paraît|il paraît|autrefois|avant que|quand j' étais|si jamais|j' aimerais|aimerait|elle me dit|
      il me dit|il m' a dit|elle m' a dit|pourquoi|comment|est ce que je`),
    noPlanInside:
      phrases(`un jour|pas|plus jamais|jamais|déjà|toujours|souvent|d' habitude|parfois|en ce moment|tout de suite|là maintenant|
      maintenant|ou pas|je plaisante|chaque|tous les jours|toutes les semaines|normalement|rarement|depuis|rien|aucun|aucune`),
    clauseStarts:
      phrases(`parce que|mais|si|sinon|donc|alors|et je|et j'|et tu|et il|et elle|et on|et nous|et vous|et toi|et puis|et après|
      et pense|et n'|et si|et le|et la|et prends|et appelle|et apporte|puis|car|quand|où|comme ça|je|j'|tu|il|elle|on|nous|vous|ils|elles|c'|ça|
      d' accord|bon|oui|non|ah|merci|qui|que|qu'|dont|n'|est ce que|pour que|avant que|sans|voilà|hein|salut|à plus|ok|ne|peux tu|pense`),
    personal: words('lui leur leurs'),
    pronouns: words(
      "le la les l' lui leur leurs y en ça cela ce celui celle ceux celles tout m' t' s' me te se vous moi toi nous",
    ),
    reflexives: words("s' se"),
    determiners: words(
      "le la les l' un une des du de d' mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce cet cette ces au aux deux trois quatre",
    ),
    prepositions: words("à au aux de du des d' dans en par pour sur sous chez avec vers sans entre"),
    toMe: phrases("moi|me|m'|à moi|pour moi"),
    toYou: phrases("te|t'|vous|à toi|pour toi|pour vous"),
    yours: new Map([
      ['ton', 'mon'],
      ['ta', 'ma'],
      ['tes', 'mes'],
      ['votre', 'mon'],
    ]),
    fillers: words(
      "euh hum donc alors aussi juste bien quand même encore ben bon hein vite peut-être absolument aussi s'il plaît te vous plait stp svp puis ensuite déjà",
    ),
    appointments:
      words(`rendez-vous rendez rdv réunion dentiste médecin déjeuner dîner apéro vol train entretien fête concert répétition
      mariage examen match cours séance anniversaire visite livraison opération enterrement obsèques tournoi spectacle film pièce
      kiné coiffeur vétérinaire véto ophtalmo pédiatre formation séminaire colloque kermesse bal brocante repas barbecue audition
      technicien cérémonie veillée messe
      conférence randonnée rando voyage départ arrivée contrôle stage soirée pique-nique brunch assemblée entraînement
      sortie inauguration baptême vaccin oral crémaillère yoga vernissage vente
      piscine patinoire échographie irm scanner générale vide-grenier déménagement pot conférence atelier tennis judo natation
      forum loto tombola pique-nique fiançailles noces communion confirmation bilan consultation dépistage détartrage piqûre plombier
      électricien soutenance partiel concours entretiens salon foire défilé apéritif raclette goûter vaccination`),
    happenings:
      phrases(`part|partons|arrive|arrivent|arrivons|commence|joue|passe|passer|passera|viendra|viendront|vient|viennent|retrouve|on se voit|revoit|se retrouve|emménage|
      emménageons|déménage|décolle|atterrit|mange|rejoint|a lieu|aura lieu`),
    copulas: words("est c' sera aura a tombe"),
    over: words('était étaient hier avait avaient fut dernière dernier'),
    deadlines: words("avant d' pour tard"),
    momentary: words(
      'ouvrir fermer tenir attendre passer montrer regarder arrêter parler dire goûter tourner appuyer répéter écouter pousser tirer allumer éteindre donner',
    ),
    carrying: words('apporter emporter amener ramener prendre mettre prêter cuisiner préparer'),
    joining: words('chercher venir passer amener emmener aller récupérer apporter prendre partir'),
    sharing: phrases(`qui fait|qui prend|qui s' occupe|qui apporte|qui veut|qui se charge|on se répartit`),
    emphatic: phrases("moi je|moi j'"),
    soon: phrases(`plus tard|tout à l' heure|en sortant|en rentrant|après le travail|après le boulot|en passant|au retour|sur le chemin|
      en repartant|dans la foulée|en partant`),
    statives:
      words(`être avoir pouvoir devoir vouloir savoir croire penser espérer aimer détester adorer sentir comprendre connaître
      vivre mourir oublier rire pleurer tomber perdre gagner`),
    infinitiveEnding: /^\p{Ll}{2,}(?:er|ir|re)$/u,
    musts: phrases(
      'a besoin de|ont besoin de|doit|doivent|il faut|faut|il faudrait|il faudra|devrait|devraient|il manque',
    ),
  },
};
