import { phrases, table, withoutAccents, words } from '../tokens.ts';
import type { Holiday, Language, Verb } from './language.ts';

const SMALL =
  'ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn'.split(
    ' ',
  );
const TENS: [string, number][] = [
  ['zwanzig', 20],
  ['dreißig|dreissig', 30],
  ['vierzig', 40],
  ['fünfzig', 50],
];
const WEEKDAYS = 'montag dienstag mittwoch donnerstag freitag samstag sonntag'.split(' ');
const MONTHS = 'januar februar märz april mai juni juli august september oktober november dezember'.split(
  ' ',
);
const PARTS: [string, number][] = [
  ['früh', 8 * 60],
  ['morgen', 9 * 60],
  ['vormittag', 10 * 60],
  ['mittag', 12 * 60],
  ['nachmittag', 15 * 60],
  ['abend', 20 * 60],
  ['nacht', 22 * 60],
];

/** 1 to 59 as one word, with its value. */
const NUMBERS: [string, number][] = [
  ...SMALL.map((word, index): [string, number] => [word, index + 1]),
  ['eins', 1],
  ['zwo', 2],
  ...TENS.flatMap(([names, value]) =>
    names
      .split('|')
      .flatMap(name => [
        [name, value] as [string, number],
        ...SMALL.slice(0, 9).map((unit, index): [string, number] => [`${unit}und${name}`, value + index + 1]),
      ]),
  ),
];
const IRREGULAR_ORDINALS: Readonly<Record<string, string>> = {
  ein: 'erst',
  drei: 'dritt',
  sieben: 'siebt',
  acht: 'acht',
};

function ordinalsOf([word, value]: [string, number]): [string, number][] {
  const stem = IRREGULAR_ORDINALS[word] ?? word + (value < 20 ? 't' : 'st');
  return ['e', 'en', 'er'].map(ending => [stem + ending, value]);
}

const STRONG = `ändern umändern abändern abbestellen abgeben abholen abschicken absagen abschließen abschliessen abwaschen anfragen anmelden anrufen
  anschauen ansehen anziehen aufhängen aufladen aufräumen aufschreiben ausdrucken ausfüllen ausleihen auspacken ausräumen ausrichten
  austauschen auswechseln backen basteln beantragen beantworten begleichen besorgen besprechen bestellen bestätigen bezahlen
  bringen buchen bügeln drucken düngen einkaufen einladen einpacken einreichen eintragen einwerfen einzahlen entsorgen
  erinnern erledigen erneuern fertigmachen festmachen fragen füttern gießen giessen heraussuchen herausfinden heimbringen holen hochladen
  informieren installieren kaufen klären kochen kontrollieren kopieren kümmern kündigen leihen liefern löschen mailen melden
  mieten mitbringen mitnehmen mitteilen montieren nachfragen nachreichen nachschauen nachsehen nähen organisieren packen
  pflanzen planen putzen raussuchen raustragen rausbringen reinigen reparieren reservieren runterbringen
  reklamieren schicken schneiden schreiben senden sortieren spülen streichen stornieren tauschen tanken telefonieren testen
  übergeben übergießen überprüfen überweisen umbuchen unterschreiben umtauschen unterzeichnen verabreden vereinbaren
  verlängern verlegen verschicken vorbereiten verkaufen verschieben vorbeibringen vorlesen waschen wechseln weiterleiten wegbringen
  wegräumen zahlen zeigen zurückbringen zurückgeben zurückrufen zurückschicken zusagen zuschicken zusenden übersetzen
  abdichten abklären anbringen anfordern anstreichen aufbauen abbauen ausbessern ausmessen durchgeben durchlesen einfrieren einrichten
  einstellen erkundigen fertigstellen freihalten freischalten korrigieren losschicken mähen messen nachbestellen nachhaken nachmessen
  recherchieren rausschicken rausstellen rüberbringen rüberschicken vergleichen vorbeischicken weitergeben weitersagen zurücklegen
  zusammenpacken zusammensuchen aktualisieren ergänzen anfügen beifügen hinzufügen ablesen abmelden ummelden aussuchen auffüllen
  nachfüllen befestigen entkalken einlösen gegenlesen gratulieren herrichten richten hinbringen hinterlegen zusammenfassen
  ausarbeiten erstellen verfassen formulieren veröffentlichen herunterladen runterladen umtopfen jäten ernten schleifen lackieren
  kehren fegen entlüften absprechen durchsprechen rumschicken rumfragen begleichen beschriften laminieren kopieren einscannen
  scannen verteilen abheften zurückzahlen
  überlegen umrühren vorbestellen vormerken wegwerfen wischen zuschneiden zusammenstellen zubereiten staubsaugen saugen bescheidsagen impfen
  übernehmen annehmen abnehmen freinehmen vornehmen auftragen eincremen einreiben ausmachen abmachen zumachen aufsetzen umsetzen
  einsetzen absetzen durchsehen durchgehen nachlesen tippen kleben aufkleben bohren schrauben anschrauben tapezieren grundieren
  verputzen spachteln sägen ölen schmieren flicken stopfen stricken häkeln säubern schrubben abstauben lüften heizen grillen
  braten schälen decken abdecken abräumen einräumen umräumen beschaffen auftreiben ersetzen erstatten ausgleichen beilegen belegen
  nachweisen sichern sperren freigeben zuteilen einteilen einplanen koordinieren abstimmen rückmelden zurückmelden durchklingeln
  anschreiben zurückschreiben antworten beauftragen betreuen pflegen ausführen abliefern prüfen wiegen notieren
  vorkochen aufwärmen auftauen einlegen rausholen reinholen hochholen raufbringen rausstellen hinstellen herbringen
  rausgeben ausgeben auszahlen spenden verschenken versteigern inserieren kündigen widerrufen anfechten klagen
  zerlegen demontieren aufbocken tauschen aufziehen abziehen beziehen bemalen schmücken dekorieren gestalten entwerfen skizzieren
  speichern sichern hochfahren aufspielen updaten umstellen ausschalten einschalten abschalten anschalten programmieren
  rasieren kämmen wickeln baden duschen windeln anprobieren abstecken nachziehen ausrechnen berechnen schätzen kalkulieren`;
const WEAK = `geben helfen lassen lernen lesen machen nehmen sagen schaffen setzen stellen suchen tun stimmen hängen legen üben tragen
  räumen nachdenken sprechen reden`;
const STATES = `arbeiten aufstehen bleiben denken einsteigen essen fahren fliegen gehen halten hinfahren hingehen kommen laufen
  losfahren malen mitkommen schauen schlafen sehen sein treffen trinken umsteigen vorbeifahren vorbeigehen
  vorbeikommen warten ankommen abfahren zurückkommen heimfahren wegfahren mitfahren`;
const PARTICLES = `ab an auf aus bei durch ein fertig fest heim her heraus hin hoch los mit mit nach raus rein runter um vor
  vorbei weg weiter zu zurück zusammen`;
const IRREGULAR_IMPERATIVES: Readonly<Record<string, string>> = {
  geben: 'gib',
  klären: 'kläre',
  nehmen: 'nimm',
  lesen: 'lies',
  sehen: 'sieh',
  sprechen: 'sprich',
  essen: 'iss',
  helfen: 'hilf',
  treffen: 'triff',
  werfen: 'wirf',
  sein: 'sei',
};

const particles = words(PARTICLES);
const longestFirst = [...particles].sort((a, b) => b.length - a.length);
const verbs: Verb[] = [
  ...[...words(STRONG)].map(infinitive => ({ infinitive, isWeak: false })),
  ...[...words(WEAK)].map(infinitive => ({ infinitive, isWeak: true })),
  ...[...words(STATES)].map(infinitive => ({ infinitive, isWeak: true, isState: true })),
];

/** "an" and "rufen" of "anrufen"; inseparable verbs such as "überweisen" as a whole. */
function partsOf(infinitive: string): [particle: string, base: string] {
  const particle = longestFirst.find(
    each => infinitive.startsWith(each) && infinitive.length >= each.length + 4 && !WHOLE.has(infinitive),
  );
  return particle === undefined ? ['', infinitive] : [particle, infinitive.slice(particle.length)];
}
const WHOLE = words(
  'antworten bestellen fertigen festigen herrschen mieten mitteln umarmen einigen ausern zahlen abend beisen',
);

const STRONG_PARTICIPLES: Readonly<Record<string, string>> = Object.fromEntries(
  `bringen gebracht|denken gedacht|schreiben geschrieben|rufen gerufen|geben gegeben|nehmen genommen|sprechen gesprochen|lesen gelesen|
  sehen gesehen|schneiden geschnitten|leihen geliehen|laden geladen|waschen gewaschen|gießen gegossen|schließen geschlossen|
  ziehen gezogen|tragen getragen|werfen geworfen|streichen gestrichen|backen gebacken|messen gemessen|finden gefunden|lassen gelassen|
  halten gehalten|weisen gewiesen|binden gebunden|schieben geschoben|wiegen gewogen|treffen getroffen|helfen geholfen|tun getan|
  gehen gegangen|kommen gekommen|fahren gefahren|schleifen geschliffen|reiben gerieben|braten gebraten`
    .split('|')
    .map(pair => pair.trim().split(' ') as [string, string]),
);
const INSEPARABLE = /^(?:be|er|ver|ent|zer|über|unter|ge)(?=.{4})/;

/** "Zurückgerufen", "besprochen", "reserviert". */
function participleOf(infinitive: string): string {
  const [particle, base] = partsOf(infinitive);
  const prefix = INSEPARABLE.exec(base)?.[0] ?? '';
  const strong = STRONG_PARTICIPLES[base.slice(prefix.length)];
  if (strong !== undefined) return particle + (prefix === '' ? strong : prefix + strong.slice(2));
  const stem = base.replace(/e?n$/, '');
  const ending = /[td]$|[^lrh][mn]$/.test(stem) ? 'et' : 't';
  return `${particle}${prefix !== '' || base.endsWith('ieren') ? '' : 'ge'}${stem}${ending}`;
}

function firstPersonOf(base: string): string[] {
  if (base === 'klären') return ['kläre']; // "klar" agrees
  if (base === 'sein') return ['bin'];
  if (base === 'tun') return ['tue', 'tu'];
  if (base.endsWith('eln')) return [`${base.slice(0, -3)}le`, `${base.slice(0, -1)}e`];
  if (base.endsWith('ern')) return [`${base.slice(0, -1)}e`];
  return [base.slice(0, -1), base.slice(0, -2)];
}

/** "Nimm" of "nehmen", "übernimm" of "übernehmen". */
function irregularOf(base: string): string | undefined {
  const prefix = INSEPARABLE.exec(base)?.[0] ?? '';
  const rest = IRREGULAR_IMPERATIVES[base.slice(prefix.length)];
  return IRREGULAR_IMPERATIVES[base] ?? (rest === undefined ? undefined : prefix + rest);
}

function imperativesOf(base: string): string[] {
  const irregular = irregularOf(base);
  if (irregular !== undefined) return [irregular];
  if (base === 'tun') return ['tu'];
  if (base.endsWith('eln')) return [`${base.slice(0, -3)}le`];
  if (base.endsWith('ern')) return [`${base.slice(0, -1)}e`];
  return [base.slice(0, -2), base.slice(0, -1)];
}

function secondPersonOf(base: string): string[] {
  const irregular = irregularOf(base);
  if (irregular !== undefined) return [`${irregular}${/[sß]$/.test(irregular) ? 't' : 'st'}`];
  const stem = base.endsWith('eln') || base.endsWith('ern') ? base.slice(0, -1) : base.slice(0, -2);
  const umlaut = base === 'fahren' || base === 'tragen' || base === 'halten' || base === 'laufen';
  if (umlaut) return [`${stem.replace('a', 'ä')}st`];
  if (/[sßz]$/.test(stem)) return [`${stem}t`];
  return [/[td]$/.test(stem) ? `${stem}est` : `${stem}st`];
}

/** Forms of simple verbs and of the second part of separable ones, which are identified by their particle. */
function formsBy(formsOf: (base: string) => string[]): Map<string, Verb> {
  const forms = new Map<string, Verb>();
  for (const { infinitive, isWeak, isState = false } of verbs) {
    const [particle, base] = partsOf(infinitive);
    for (const form of formsOf(base)) {
      const key = withoutAccents(form);
      if (key === 'mal' || (key === 'andere' && formsOf !== firstPersonOf)) continue; // "schick mir mal"
      const known = forms.get(key);
      if (particle === '') forms.set(key, { infinitive: base, isWeak, isState });
      else if (!known) forms.set(key, { infinitive: base, isWeak: true, isState: true });
      forms.set(`${withoutAccents(particle)} ${key}`, { infinitive, isWeak, isState });
    }
  }
  return forms;
}

export const german: Language = {
  code: 'de',
  stopWords: words(`
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist bitte da dabei
    dafür damit dann daran darauf das dass dein deine deinem deinen dem den denn der des dich die dies diese diesem diesen
    dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure für gab ganz gar
    gegen gehabt geht genau gerade gern gesagt gewesen gibt gut habe haben habt halt hast hat hatte hatten hätte hätten
    hier hin ich ihm ihn ihnen ihr ihre ihrem ihren im immer in ins ist ja jede jeden jeder jetzt kann kannst kein keine
    keinen können könnte lass machen mach macht mal man mehr mein meine meinem meinen meiner mich mir mit mittlerweile
    muss müssen musst na nach nachdem ne nein nicht nichts noch nochmal nun nur ob oder oh ohne okay paar schon sehr sei
    sein seine seinem seinen seit sich sie sind so soll sollen sollte sonst super tja über um und uns unser unsere unter
    viel vielleicht vom von vor wann war waren warte warum was weg weil welche wenn wer werde werden wie wieder will wir
    wird wirklich wo wohl wollen worden wurde würde zu zum zur zwar heute morgen gestern übermorgen eben einfach
    eigentlich ach hallo tschüss guten gute guter danke gerne stimmt klar kommt komm komme gehen geh machst gemacht weiß weiss glaube
    finde sage sagt sag guck schau leute sache dings zeit tag woche uhr ähm äh hm mhm`),
  dates: {
    numbers: table(NUMBERS),
    ordinals: table(NUMBERS.filter(([, value]) => value <= 31).flatMap(ordinalsOf)),
    weekdays: table([
      ...WEEKDAYS.flatMap((name, index) => [
        [name, { weekday: index + 1 }] as [string, { weekday: number }],
        ...PARTS.map(([part, minute]): [string, { weekday: number; minute: number }] => [
          `${name}${part}|${name} ${part}`,
          { weekday: index + 1, minute },
        ]),
      ]),
      ['sonnabend', { weekday: 6 }],
    ]),
    months: table([
      ...MONTHS.map((name, index): [string, number] => [name, index + 1]),
      ['jänner', 1],
      ['feber', 2],
    ]),
    days: table<{ days: number; minute?: number }>([
      ['heute|heut', { days: 0 }],
      ['morgen', { days: 1 }],
      ['übermorgen', { days: 2 }],
      ...PARTS.flatMap(([part, minute]): [string, { days: number; minute: number }][] => [
        [`heute ${part}`, { days: 0, minute }],
        ...(part === 'morgen'
          ? []
          : [[`morgen ${part}`, { days: 1, minute }] as [string, { days: number; minute: number }]]),
        [`übermorgen ${part}`, { days: 2, minute }],
      ]),
      ['morgen in der früh', { days: 1, minute: 8 * 60 }],
      ['heute noch|noch heute', { days: 0 }],
      ['im laufe des tages|bis ende des tages', { days: 0, minute: 18 * 60 }],
    ]),
    parts: table([
      ['am morgen|in der früh|morgens|frühmorgens', 9 * 60],
      ['am vormittag|vormittags', 10 * 60],
      ['am nachmittag|nachmittags', 15 * 60],
      ['am abend|abends', 20 * 60],
      ['nach dem abendessen', 20 * 60],
      ['nach dem mittagessen', 13 * 60],
      ['nachts|in der nacht', 22 * 60],
      ['zu mittag|über mittag|in der mittagspause', 12 * 60],
      ['am frühen nachmittag', 14 * 60],
      ['am späten nachmittag', 17 * 60],
      ['am frühen abend', 18 * 60],
      ['am späten vormittag', 11 * 60],
      ['feierabend|vor feierabend|bis feierabend', 18 * 60],
    ]),
    dayParts: table(PARTS),
    units: table([
      ['minute|minuten', 'minute'],
      ['stunde|stunden', 'hour'],
      ['tag|tage|tagen', 'day'],
      ['woche|wochen', 'week'],
      ['monat|monate|monaten', 'month'],
    ]),
    lengths: table([
      ['einer halben stunde|eine halbe stunde|ner halben stunde|halben stunde', 30],
      ['einer viertelstunde|eine viertelstunde', 15],
      ['einer dreiviertelstunde|eine dreiviertelstunde', 45],
      ['einer stunde|eine stunde|ner stunde', 60],
      ['anderthalb stunden|eineinhalb stunden', 90],
      ['zweieinhalb stunden', 150],
      ['einer minute|eine minute', 1],
      ['einem tag|ein tag', 1440],
      ['einer woche|eine woche|acht tagen', 7 * 1440],
      ['vierzehn tagen', 14 * 1440],
    ]),
    within: phrases(
      'in|innerhalb von|innerhalb|binnen|in etwa|in rund|in ungefähr|in spätestens|in den nächsten|innerhalb der nächsten',
    ),
    fromNow: phrases('ab jetzt|ab heute'),
    periods: table([
      ['diese woche|dieser woche|im laufe der woche', 'this week'],
      ['nächste woche|nächster woche|kommende woche|die nächste woche|nach dem wochenende', 'next week'],
      [
        'übernächste woche|übernächster woche|die übernächste woche|in der übernächsten woche',
        'week after next',
      ],
      ['wochenende|am wochenende|dieses wochenende', 'weekend'],
      ['nächstes wochenende|am nächsten wochenende', 'next weekend'],
      ['in einem monat|innerhalb eines monats|binnen eines monats', 'in a month'],
      ['ende der woche|ende dieser woche', 'end of week'],
      ['ende des monats|monatsende|ende diesen monats', 'end of month'],
      ['nächsten monat', 'next month'],
      ['ende des jahres|jahresende', 'end of year'],
      ['weihnachten|heiligabend', 'christmas'],
      ['neujahr', 'new year'],
    ]),
    edges: table([
      ['anfang|zu beginn|beginn', 'start'],
      ['mitte', 'middle'],
      ['ende', 'end'],
    ]),
    stretches: table([
      ['der woche|dieser woche|diese woche', 'this week'],
      ['nächster woche|nächste woche|kommender woche|der nächsten woche|der kommenden woche', 'next week'],
      ['übernächster woche|übernächste woche|der übernächsten woche', 'week after next'],
      ['des monats|dieses monats|diesen monats', 'this month'],
      ['nächsten monats|nächsten monat|des nächsten monats|kommenden monats', 'next month'],
      ['des jahres|dieses jahres', 'this year'],
      ['nächsten jahres|des nächsten jahres|nächstes jahr', 'next year'],
    ]),
    holidays: table<Holiday>([
      ['ostern|ostersonntag', { easter: 0 }],
      ['gründonnerstag', { easter: -3 }],
      ['karfreitag', { easter: -2 }],
      ['ostermontag', { easter: 1 }],
      ['rosenmontag', { easter: -48 }],
      ['aschermittwoch', { easter: -46 }],
      ['himmelfahrt|christi himmelfahrt', { easter: 39 }],
      ['pfingsten|pfingstsonntag', { easter: 49 }],
      ['pfingstmontag', { easter: 50 }],
      ['fronleichnam', { easter: 60 }],
      ['dreikönig|heilige drei könige', { month: 1, day: 6 }],
      ['valentinstag', { month: 2, day: 14 }],
      ['allerheiligen', { month: 11, day: 1 }],
      ['nikolaus|nikolaustag', { month: 12, day: 6 }],
      ['silvester', { month: 12, day: 31 }],
    ]),
    last: phrases('seit|letzten|letzte|letztes|vergangenen|vorigen'),
    every: phrases(
      'jeden|jede|jedes|alle|jeden zweiten|jede zweite|jedes zweite|jeden dritten|alle zwei|alle drei|alle vier',
    ),
    nextBefore: phrases('nächsten|nächster'),
    nextAfter: phrases(''),
    nextIsNextWeek: true,
    laterBefore: table([
      ['übernächsten|übernächster|eine woche nach|in der woche nach', 7],
      ['zwei wochen nach', 14],
      ['am tag nach|einen tag nach', 1],
      ['am tag vor|einen tag vor', -1],
    ]),
    laterAfter: table([
      ['in einer woche|in acht tagen', 7],
      ['in zwei wochen|in vierzehn tagen', 14],
      ['in drei wochen', 21],
    ]),
    thatBefore: phrases('an dem|diesem'),
    relativeAfter: table([
      ['davor|vorher', 'before'],
      ['danach|drauf|darauf', 'after'],
    ]),
    relativeDays: table([
      ['am tag davor|am tag vorher|einen tag vorher|einen tag davor|am abend vorher|am abend davor', -1],
      ['am tag danach|am tag darauf|einen tag später|am nächsten tag|am folgetag', 1],
      ['eine woche vorher|eine woche davor|in der woche davor', -7],
      ['zwei tage vorher|zwei tage davor', -2],
      ['eine woche danach|eine woche später|die woche darauf|in der woche darauf', 7],
      ['an dem tag|am selben tag|beim nächsten mal|zum nächsten mal|nächstes mal|bis dahin', 0],
    ]),
    dayOfMonth: table([
      ['am|bis zum|den|vom|bis|ab dem|zum', { isStrong: true }],
      ['dem|der', { isStrong: false }],
    ]),
    hasCardinalDays: false,
    ofMonth: phrases(''),
    at: phrases('um|gegen|ab|bis|vor|nach|von|zwischen|bis um|so um|spätestens um|kurz vor'),
    oClock: phrases('uhr'),
    oClockIsEnough: true,
    halfBefore: table([
      ['halb', -30],
      ['dreiviertel', -15],
      ['viertel', -45],
    ]),
    quarter: table([
      ['viertel', 15],
      ['dreiviertel', 45],
    ]),
    past: phrases('nach'),
    to: phrases('vor'),
    hourTails: table([]),
    minuteJoins: table([]),
    namedTimes: table([
      ['mittag|mittags|zwölf uhr mittags', 12 * 60],
      ['mitternacht', 24 * 60 - 1],
    ]),
    meridiem: table([]),
    through: phrases('bis|und'),
    corrections: phrases(
      'nein warte|nee warte|ich meine|beziehungsweise|sagen wir|besser gesagt|quatsch|nein doch|oder besser|oder lieber',
    ),
    lead: words(
      'bis zum am um vor ab im in den der dem an auf noch zu nächsten kommenden diesen gegen spätestens schon gleich so nach zwar und von',
    ),
    counted: words(
      'prozent grad euro mark leute jahre jahren mal kilo gramm liter milliliter milligramm seiten stück stunden minuten tage wochen personen kinder franken',
    ),
  },
  acts: {
    isVerbLast: true,
    firstPerson: formsBy(firstPersonOf),
    imperatives: formsBy(imperativesOf),
    secondPerson: formsBy(secondPersonOf),
    infinitives: new Map(
      verbs.flatMap(verb => {
        const [particle, base] = partsOf(verb.infinitive);
        const withZu =
          particle === '' ? [] : [[withoutAccents(`${particle}zu${base}`), verb] as [string, Verb]];
        return [[withoutAccents(verb.infinitive), verb] as [string, Verb], ...withZu];
      }),
    ),
    gerunds: new Map(verbs.map(verb => [withoutAccents(participleOf(verb.infinitive)), verb])),
    subject: words('ich'),
    listener: words('du'),
    clitics: words('mich mir dir dich euch ihnen ihm ihr uns es das den die ihn sie'),
    particles,
    promises: phrases(`ich muss|ich werde|ich soll|muss ich|werde ich|
      ich darf nicht vergessen|muss ich noch|hab ich noch zu|habe ich noch zu|ich hab noch zu|ich habe noch zu|ich verspreche|
      ich habe versprochen|ich hab versprochen|hab ich versprochen|habe ich versprochen|ich sehe zu dass ich|ich schau dass ich|ich schaue dass ich|
      ich denk dran|ich hab vor|ich habe vor|ich nehme mir vor|erinner mich|erinnere mich|erinner mich daran|erinnere mich daran|erinner mich bitte daran|
      erinnere mich bitte daran|erinnert mich daran|darf ich nicht vergessen|ich versuche|erinner mich bitte|erinnere mich bitte`),
    wishes: phrases(
      'ich will|wollte ich|möchte ich|ich sollte|ich möchte|ich kann|ich müsste|müsste ich|sollte ich|ich wollte|will ich|kann ich',
    ),
    sharedPromises: phrases('wir müssen|wir werden|wir sollten|müssen wir|sollten wir|wir wollen'),
    requests:
      phrases(`kannst du|könntest du|würdest du|kannst du bitte|könntest du bitte|kannst du mal|du musst|musst du|
      du sollst|du solltest|können sie|könnten sie|würden sie|sie müssen|müssen sie|sie sollten|magst du|möchtest du|
      du kannst|sie können|kannst du noch|kannst du mir|sollst du|solltest du|ihr müsst|könntet ihr|könnt ihr|
      würde es dir was ausmachen|würde es dir etwas ausmachen|würde es ihnen etwas ausmachen|macht es dir was aus|macht es dir etwas aus|
      macht es ihnen etwas aus|wärst du so lieb und|sei so lieb und|seien sie so lieb und|seien sie so gut und|sei so gut und|sind sie so lieb und|
      bist du so lieb und|sei so nett und|seien sie so nett und|sind sie so nett und|wären sie so nett und|tu mir den gefallen und|wäre es möglich dass du|
      meinst du du könntest|hättest du zeit|du müsstest|sie müssten|müsstest du|müssten sie|du wolltest|wolltest du nicht|
      ich möchte dass du|ich möchte dass sie|ich bitte dich|ich bitte sie|darf ich sie bitten|kann ich dich bitten|darf ich dich bitten|kann ich sie bitten|
      du hattest versprochen|wie wär's wenn du|magst du nicht|dürfte ich sie bitten|es wäre gut wenn du|es wäre schön wenn du`),
    reminders:
      phrases(`vergesst nicht|vergesst bitte nicht|vergesst mir nicht|denkt an|denkt bitte an|denkt bitte daran|vergiss nicht|vergiss bitte nicht|vergessen sie nicht|vergessen sie bitte nicht|denk daran|denk dran|
      denk bitte daran|denk bitte dran|denken sie daran|denken sie bitte daran|denken sie an|denk an|denkt daran|nicht vergessen|notiz an mich|notiz an mich selbst|
      denk auch an|vergiss|muss noch|denken sie bitte an|denk bitte an`),
    openRequests:
      phrases(`wer hat|wer hat schon|wer ist schon|haben wir|haben wir schon|hast du|hast du schon|haben sie|haben sie schon|habt ihr|habt ihr schon|hattest du|jemand muss|jemand müsste|einer muss|wer kann|wer könnte|kann jemand|könnte jemand|kann wer|
      es müsste jemand|müsste jemand|es müsste einer|müsste einer|müsste mal jemand|einer müsste|kann einer|könnte einer|könnte mal jemand|
      kann mal jemand|wer will|wer möchte|wer ist so lieb und|einer von uns muss|einer von euch muss|muss noch jemand|
      wir brauchen|wir müssen|man müsste|man muss|es fehlt|es fehlen|uns fehlt|wir haben kein|wir haben keine|muss jemand|
      ich brauche|ich bräuchte|müssen wir`),
    offers: phrases(
      'soll ich|sollen wir|darf ich|brauchst du jemanden|kann ich dir|kann ich euch|kann ich ihnen',
    ),
    listMarks:
      phrases(`erstens|zweitens|drittens|viertens|fünftens|punkt eins|punkt zwei|punkt drei|punkt vier|nummer eins|
      nummer zwei|nummer drei|nummer vier|nummer fünf|notiz an mich|notiz für mich|außerdem|dann noch|und dann|merken|dann`),
    takings:
      phrases(`das würde ich machen|das würde ich wieder machen|das würde ich übernehmen|das würd ich machen|das könnte ich machen|das könnte ich übernehmen|das kann ich übernehmen|machen wir|das machen wir|ich versuch's|ich versuche es|ich probier's|ich probiere es|die haben sie|den haben sie|das haben sie|die hast du|den hast du|das hast du|das erledigen wir|mach ma|ich erledige es|das regel ich|das regle ich|kriegst du|bekommst du|kriegen sie|bekommen sie|mach ich|mache ich|das mache ich|das mach ich|ich mache das|ich mach das|ich mach's|ich kümmere mich|
      kümmere ich mich|übernehme ich|ich übernehme das|erledige ich|ich erledige das|wird gemacht|wird erledigt|schaffe ich|
      das schaffe ich|schaff ich|ich kümmere mich darum|kümmer ich mich|ich kümmer mich drum|das übernehme ich|ich mache es|
      übernehm ich|das übernehm ich|kann ich machen|das kann ich machen|mach ich gern|mach ich gerne|lass mich das machen|verlass dich drauf|
      verlass dich auf mich|verlassen sie sich drauf|ich bin dran|ich kümmere mich drum|
      kümmer ich mich drum|da kümmer ich mich drum|darum kümmere ich mich|nehm ich in die hand|
      ich tu's|ich übernehme|krieg ich hin|kriege ich hin|bekomme ich hin`),
    yes: phrases(`ja|jo|jap|okay|ok|klar|gut|gerne|gern|alles klar|in ordnung|sicher|natürlich|geht klar|passt|verstanden|
      notiert|einverstanden|abgemacht|na gut|na klar|aber gern|selbstverständlich|jawohl|genau|stimmt|ist gut|schön|super|prima|
      überhaupt nicht|kein problem|kein ding|kein thema|gar kein problem|natürlich nicht|mit vergnügen|versprochen|ist notiert|hab ich notiert|
      mach ich gern|mach ich gerne|ja sicher|aber sicher|aber klar|sehr gern|sehr gerne|na logo|logisch|
      mach ich|mache ich|ach ja|ja gut|ja klar|ja gerne|richtig|wird gemacht|also gut|freilich|doch|toll|cool|echt|oh`),
    refusals:
      phrases(`nein|nee|nö|leider|geht nicht|kann ich nicht|ich kann nicht|auf keinen fall|keine lust|vergiss es|
      niemals|tut mir leid|das geht nicht|ich will nicht|lieber nicht|nie im leben|von wegen|heute nicht`),
    done: phrases(`schon|gestern|schon erledigt|habe ich schon|hab ich schon|ist schon|erledigt|längst|schon gemacht|sind schon|schon passiert|
      habe ich gemacht|hab ich gemacht|liegt schon|hier bitte|bitte schön|bitteschön|ist erledigt|schon bezahlt|hab ich|habe ich`),
    cancels:
      phrases(`lass mal|lass es|lassen sie es|lassen sie das|lassen sie mal|lassen sie nur|lassen sie gut sein|vergiss es|brauchst du nicht|musst du nicht|nicht nötig|doch nicht|dann nicht|
      hat sich erledigt|brauchen sie nicht|müssen sie nicht|
      nicht mehr nötig|streich das|brauch ich nicht|lieber nicht|nein lass|holt mich nicht|ach lass`),
    negations: words('nicht nie niemals kein keine keinen keinem keiner nix nichts niemand niemanden'),
    noPlanBefore:
      phrases(`wenn|falls|vielleicht|sagte|gesagt|meinte|meint|zitiere|zitat|hätte|hätten|würde|wäre|angeblich|
      stell dir vor|eines tages|irgendwann|könnte|ob|früher|damals|sagt|am liebsten|eventuell|möglicherweise|wünschte|sobald|wieso|warum|im film`),
    noPlanInside:
      phrases(`schon|irgendwann|eines tages|nicht|nie|kein|keine|keinen|keinem|eh|ohnehin|immer|meistens|normalerweise|
      gerade|grad|jetzt|oft|selten|manchmal|sowieso|würde|wohl|jedes mal|jeden tag|oder nicht|gern|gerne|nichts|seit|niemanden|etwa|irgendwelche|irgendeine|irgendeinen|
      nur schnell|nur kurz|nur eben|nur noch schnell|übrigens nie|haha|nur spaß`),
    clauseStarts:
      phrases(`und ich|und du|und sie|und er|und wir|und dann|und die|und der|und das|und zwar|und den|und wenn|und bitte|und es|
      weil|aber|wenn|falls|denn|sonst|oder|damit|dass|ob|dann|ja|okay|gut|danke|tschüss|also|weißt du|das ist|das sind|die ist|der ist|
      er ist|sie ist|es ist|ich|du|wir|wo|wie|was|wer|wann|warum|danach|sobald|bevor|obwohl|nein|und bring|und ruf|und hol|und vergiss|und denk|und kannst|und könntest|und mach|und am|und um`),
    personal: words('ihm ihnen'),
    pronouns: words(
      'das es den die ihn sie der dem ihm ihr ihnen dies dieses welche welches einen eins eine davon dafür dazu damit darum drum dran daran',
    ),
    reflexives: words('mich dich sich'),
    determiners: words(
      'der die das den dem des ein eine einen einem einer mein meine meinen meinem meiner dein deine deinen deinem deiner unser unsere unseren ihr ihre ihren ihrem sein seine seinen kein keine neue neuen',
    ),
    prepositions: words(
      'in im an am auf aus bei beim mit nach von vom vor zu zum zur für über unter ins ans aufs durch um wegen gegen ohne',
    ),
    toMe: phrases('mir|mich|für mich|an mich|zu mir'),
    toYou: phrases('dir|ihnen|euch|für dich|für sie|dich|an dich|an sie|für euch'),
    yours: new Map([
      ['dein', 'mein'],
      ['deine', 'meine'],
      ['deinen', 'meinen'],
      ['deinem', 'meinem'],
      ['deiner', 'meiner'],
    ]),
    fillers: words(
      'ähm äh hm bitte mal halt eben ja doch noch auch dann also schnell kurz einfach unbedingt okay gut vielleicht nachher denn eh lieber erst nochmal selber selbst mein schatz daran dran nämlich natürlich bloß wieder gleich später zwar da',
    ),
    appointments:
      words(`termin zahnarzt arzt besprechung treffen flug konzert hochzeit prüfung kontrolle probe training spiel kurs
      geburtstag feier party fest essen frühstück mittagessen abendessen grillen sitzung versammlung abend umzug beerdigung
      gespräch besuch besichtigung lieferung handwerker klausur vorlesung seminar übung einsatz turnier rennen
      physio krankengymnastik friseur hauptuntersuchung fortbildung schulung lehrgang stammtisch premiere lesung ausstellung
      flohmarkt sprechstunde untersuchung impfung beratung zahnreinigung klassenfahrt
      ausflug wanderung reise urlaub abfahrt ankunft treffpunkt übergabe operation op taufe einschulung messe film
      vorstellung aufführung theater kino führung marathon fahrt lager exkursion tagung inventur markt sprechtag röntgen ultraschall konferenz telko videocall kaffeetrinken hauptversammlung mrt spiegelung
      visite vorsorge einweihung eröffnung verabschiedung weinprobe gottesdienst konfirmation kommunion firmung jubiläum praktikumstag
      abnahme abholung anlieferung ablesung wartung renovierung workshop picknick brunch freibad schwimmen basar sommerfest aussprache
      generalprobe casting bewerbungsgespräch vernissage jahrestag rundgang ortstermin verlosung wahl demo meeting hauptprobe`),
    happenings:
      phrases(`kommt|kommen|kommst|komme|fährt|fahren|fahre|fliegt|fliegen|fliege|beginnt|beginnen|startet|starten|geht los|liefert|trifft|treffen|sehen uns|
      seh dich|sehe dich|sehe sie|landet|landen|zieht um|ziehen um|findet statt|findet|heiratet|heiraten|hol dich ab|holt uns|vorbeikommen`),
    copulas: words('ist sind wird findet geht steigt war'),
    over: words('war waren gestern hatte hatten wurde damals gewesen vorgestern'),
    deadlines: words('bis vor spätestens fällig'),
    momentary: words(
      'öffnen schließen aufmachen zumachen halten festhalten warten setzen zeigen anschauen ansehen gucken schauen sagen sprechen reichen drehen geben probieren hinsetzen aufhören zuhören wiederholen drücken einschalten ausschalten anmachen ausmachen vorlesen',
    ),
    carrying: words('mitbringen mitnehmen bringen vorbeibringen anziehen backen kochen'),
    joining: words(
      'abholen holen bringen fahren kommen treffen mitnehmen vorbeikommen hinfahren losfahren hinbringen',
    ),
    sharing: phrases(`wer macht|wer übernimmt|wer bringt|wer kümmert sich|wer backt|wer kauft|wer holt`),
    emphatic: phrases(''),
    soon: phrases(`nachher|später|im anschluss|gleich im anschluss|auf dem heimweg|auf dem rückweg|auf dem weg|nach der arbeit|
      nach feierabend|unterwegs|wenn ich heimkomme|wenn ich zu hause bin|hinterher|anschließend`),
    statives:
      words(`haben werden können müssen sollen wollen dürfen mögen wissen glauben meinen finden hoffen lieben hassen brauchen
      kennen verstehen fühlen spüren merken erleben genießen leiden hören scheinen leben wohnen sterben vergessen schaffen`),
    infinitiveEnding: /^\p{Ll}{2,}(?:en|ern|eln)$/u,
    musts: phrases(
      'muss|müssen|müsste|müssten|soll|sollen|sollte|sollten|gehört|gehören|fehlt noch|fehlen noch',
    ),
  },
};
