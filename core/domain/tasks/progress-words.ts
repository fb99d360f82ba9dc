/** Words with which people report what they have done, by language. Without accents, like the results of `tokensOf`. */

export interface ProgressWords {
  /** The speaker. */
  i: ReadonlySet<string>;
  /** Auxiliaries and adverbs that may stand between the speaker, the verb and the amount without changing the meaning. */
  fillers: ReadonlySet<string>;
  /** Words that rule a report out: negations, wishes, plans, doubts, habits, the distant past, vague amounts. */
  doubts: ReadonlySet<string>;
  articles: ReadonlySet<string>;
  /** Words that may follow what was done. */
  after: ReadonlySet<string>;
  is: ReadonlySet<string>;
  my: ReadonlySet<string>;
  outOf: ReadonlySet<string>;
  numbers: ReadonlyMap<string, number>;
  /** Separates thousands; the other one of dot and comma begins the fraction. */
  thousands: '.' | ',';
  /** The verb stands at the end, after what was done. */
  isVerbLast: boolean;
  /** Past forms of irregular verbs, by infinitive. */
  irregular: ReadonlyMap<string, readonly string[]>;
  /** Past forms that a regular verb of this infinitive would have. */
  regular(verb: string): string[];
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

const numbers = (text: string): ReadonlyMap<string, number> =>
  new Map(text.split(/\s+/).map(pair => [pair.split('=')[0] ?? '', Number(pair.split('=')[1])]));

const verbs = (text: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    text.split(/\s+/).map(entry => [entry.split('=')[0] ?? '', (entry.split('=')[1] ?? '').split('/')]),
  );

const ENGLISH: ProgressWords = {
  i: words('i'),
  fillers: words(
    'have ve just finally already also actually really only for another exactly today yesterday',
  ),
  doubts:
    words(`not no never t nearly almost about around roughly maybe perhaps probably if unless when whether would could
    should might must may will ll wish want wanted hope hoped plan planned going gonna supposed thought think dream dreamed
    dreamt guess pretend imagine said says every each usually normally often always sometimes per ago last years used than
    less fewer until total altogether far goal target instead joke joking kidding lie lied`),
  articles: words('a an the my our this that'),
  after: words('today yesterday finally now already this on in at with after before and so'),
  is: words('is was'),
  my: words('my'),
  outOf: words('of'),
  numbers:
    numbers(`one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13
    fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60
    seventy=70 eighty=80 ninety=90`),
  thousands: ',',
  isVerbLast: false,
  irregular:
    verbs(`run=ran swim=swam/swum read=read write=wrote/written drink=drank/drunk eat=ate/eaten ride=rode/ridden
    drive=drove/driven sleep=slept spend=spent do=did/done make=made/made build=built sell=sold win=won meet=met take=took/taken
    give=gave/given get=got go=went/gone buy=bought learn=learned/learnt lose=lost pay=paid see=saw/seen sing=sang/sung
    draw=drew/drawn teach=taught quit=quit`),
  regular(verb) {
    if (verb.endsWith('e')) return [`${verb}d`];
    if (/[^aeiou]y$/.test(verb)) return [`${verb.slice(0, -1)}ied`];
    return [`${verb}ed`, ...(/[aeiou][^aeiouwxy]$/.test(verb) ? [`${verb}${verb.at(-1)}ed`] : [])];
  },
};

const GERMAN: ProgressWords = {
  i: words('ich'),
  fillers: words(
    'bin habe hab schon heute gestern endlich gerade eben auch noch weitere genau nur dann wirklich',
  ),
  doubts:
    words(`nicht kein keine keinen nie niemals fast beinahe etwa ungefahr circa rund vielleicht wohl wenn falls als ob
    dass wurde wollte mochte sollte konnte muss will werde hatte ware hoffe plane glaube dachte denke traumte jeden jede jedes
    taglich meistens normalerweise oft immer manchmal pro vor letztes letzten jahren fruher weniger bis insgesamt bisher
    ziel statt er sie wir`),
  articles: words(
    'der die das den dem ein eine einen einem mein meine meinen unser unsere diesen diese dieses',
  ),
  after: words('und heute gestern'),
  is: words('ist war'),
  my: words('mein meine'),
  outOf: words('von'),
  numbers:
    numbers(`zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12 dreizehn=13 vierzehn=14
    funfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig=30 vierzig=40 funfzig=50 sechzig=60
    siebzig=70 achtzig=80 neunzig=90 hundert=100`),
  thousands: '.',
  isVerbLast: true,
  irregular:
    verbs(`laufen=gelaufen schwimmen=geschwommen lesen=gelesen schreiben=geschrieben trinken=getrunken essen=gegessen
    fahren=gefahren gehen=gegangen schlafen=geschlafen bestehen=bestanden gewinnen=gewonnen verlieren=verloren
    joggen=gejoggt rudern=gerudert wandern=gewandert verkaufen=verkauft bezahlen=bezahlt trainieren=trainiert
    meditieren=meditiert singen=gesungen treffen=getroffen finden=gefunden abschließen=abgeschlossen
    aufraumen=aufgeraumt`),
  regular: verb => (verb.endsWith('en') ? [`ge${verb.slice(0, -2)}t`, `ge${verb.slice(0, -2)}et`] : []),
};

export const LANGUAGES: readonly ProgressWords[] = [ENGLISH, GERMAN];

/** Units that have several names, the plural among them. */
const UNITS = [
  'km kms kilometer kilometers kilometre kilometres kilometern',
  'm meter meters metre metres metern',
  'mi mile miles meile meilen',
  'h hr hrs hour hours stunde stunden',
  'min mins minute minutes minuten',
  'kg kilo kilos kilogram kilograms kilogramm',
  'l liter liters litre litres litern',
  'page pages seite seiten',
  'book books buch bucher',
  'step steps schritt schritte',
  'lesson lessons lektion lektionen',
  'word words wort worter',
].map(words);

/** Whether two words name the same unit. */
export function isSameUnit(one: string, other: string): boolean {
  return (
    one === other ||
    one === `${other}s` ||
    other === `${one}s` ||
    UNITS.some(names => names.has(one) && names.has(other))
  );
}

/** Words of a title that state an amount, a deadline or a frequency, but not the activity. */
export const AROUND =
  words(`a an the my per total more least this year years month months week weeks weekly monthly day days
  daily every each until till end by in of for to and at summer winter spring autumn
  der die das den dem ein eine einen mein meine pro mehr dieses diesen diese jahr jahre monat monate woche wochen tag tage
  taglich jeden jede jedes bis ende im in am zu und mindestens sommer winter fruhling herbst`);

/** Words of recurring goals, which are never completed by doing them once. */
export const RECURRING = words(
  'every each daily weekly monthly per more taglich jeden jede jedes wochentlich pro mehr',
);
