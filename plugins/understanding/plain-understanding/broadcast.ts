/**
 * Detects television and radio in the background by phrases that presenters use and people in a room hardly ever do. The
 * owner and known people never count as presenters.
 */
import type { SpokenSegment } from '../../../core/contract/plugin.ts';
import type { Pace } from '../../kit/kit.ts';
import { saysNothing } from './nothing.ts';

type Said = Pick<SpokenSegment, 'text' | 'speaker' | 'isUser'>;

/** Maximum characters of a segment that are searched. */
const MAX_CHARS = 2000;
/** Unknown speakers are numbered. */
const STRANGER = /^Speaker \d+$/;
/** Phrases that address an audience or announce a programme. */
const PRESENTED =
  /(?<!\p{L})(?:good (?:morning|evening|afternoon),? and welcome to|welcome (?:back )?to (?:the show|the programme|the program|the news)|(?:and )?welcome back(?: after the break)?, (?:viewers|listeners|folks|ladies)|you(?:'re| are) (?:watching|listening to) \p{Lu}|stay tuned|stay with us|don't go away|after (?:the|this|a short) (?:break|commercial)|(?:we'll|we will) be right back|back to (?:you in )?the studio|reporting (?:live )?from|reports from \p{Lu}|(?:our|the) correspondent|(?:this is|here is|here are|now) the (?:news|headlines|weather forecast)|(?:and )?now (?:the|for the) (?:weather|sport|sports|traffic)(?=[.,:]|$)|coming up(?: next)?(?: on| after|:)|next week:|in (?:tonight's|this week's) (?:episode|programme|program|edition)|call now|order now|operators are standing by|only \p{L}+ left in stock|brought to you by|sponsored by|ladies and gentlemen|dear (?:viewers|listeners)|meine damen und herren|guten abend,? (?:und herzlich )?willkommen (?:bei|zu|zur)|(?:herzlich )?willkommen zurück (?:bei|zu|im studio)|bleiben sie dran|nach der werbung|gleich geht'?s weiter (?:mit|nach)|(?:zurück|damit) ins studio|live aus \p{Lu}|unsere? (?:korrespondentin|korrespondent|reporterin|reporter)|und nun (?:das wetter|zum wetter|zum sport|der sport)|liebe (?:zuschauer|zuhörer|hörerinnen)|rufen sie jetzt an|bestellen sie jetzt|nächste woche:|mesdames et messieurs|bonsoir(?: à tous)?,? et bienvenue|restez avec nous|après la (?:pub|publicité|pause)|à vous les studios|notre (?:envoyée?|correspondante?)|chers (?:téléspectateurs|auditeurs)|voici les titres|appelez maintenant|et maintenant la météo|la semaine prochaine :|señoras y señores|buenas noches y bienvenidos|no se vayan|después de la (?:publicidad|pausa)|volvemos (?:enseguida|tras)|nuestr[oa] (?:corresponsal|enviad[oa])|queridos (?:espectadores|oyentes)|llame ahora|y ahora el tiempo|la próxima semana:)/iu;
/**
 * Words of crime series, hospital series, reports of matches and the news. A broadcast among strangers has several of one
 * kind.
 */
const GENRES: readonly RegExp[] = [
  /(?<!\p{L})(?:detective|inspector|sergeant|suspects?|alibi|warrant|coroner|forensics|homicide|murder(?:er|ed)?|the killer|the body|the victim|kommissar(?:in)?|revier|spurensicherung|tatort|die leiche|mordfall|der mörder|die waffe|verdächtige[rn]?|durchsuchungsbefehl|commissaire|suspect|perquisition|le meurtre|l'assassin|la victime|la scène de crime|comisario|sospechosos?|coartada|el asesino|asesinato|la víctima|orden de registro)(?!\p{L})/giu,
  /(?<!\p{L})(?:scalpel|defibrillator|we're losing him|we're losing her|flatline|code blue|clear the table|skalpell|wir verlieren ihn|bistouri|on le perd|bisturí|lo estamos perdiendo)(?!\p{L})/giu,
  /(?<!\p{L})(?:goalkeeper|striker|midfield|yellow card|red card|penalty|offside|corner kick|half[- ]time|free kick|the referee|away side|home side|wickets?|innings|over the bar|bowler|batsman|batter|boundary|leg side|off stump|square leg|lbw|match point|set point|break point|deuce|backhand|forehand|pit stop|pole position|final lap|home straight|torwart|elfmeter|abseits|gelbe karte|rote karte|freistoß|eckball|der schiedsrichter|halbzeit|mi-temps|carton jaune|carton rouge|l'arbitre|hors-jeu|coup franc|le gardien|la surface|portero|penalti|fuera de juego|tarjeta amarilla|tarjeta roja|el árbitro|saque de esquina|delantero)(?!\p{L})/giu,
  /(?<!\p{L})(?:only (?:\p{L}{1,20} )?(?:nineteen|twenty|thirty|forty|fifty)?[- ]?nine(?:ty)?[- ]nine|ninety[- ]nine|free (?:delivery|shipping|postage)|easy (?:payments|instal?lments)|item number|money[- ]back guarantee|while (?:stocks|supplies) last|today only|retail price|limited (?:stock|time|edition)|on your screens?|lines are open|sold out|per customer|versandkostenfrei|artikelnummer|geld[- ]zurück[- ]garantie|solange der vorrat reicht|nur heute|statt \p{L}{1,20} euro|auf ihrem bildschirm|livraison gratuite|satisfait ou remboursé|offre limitée|en exclusivité|envío gratis|oferta limitada|solo hoy|garantía de devolución)(?!\p{L})/giu,
];
/** Minimum of different words of one kind. */
const MIN_GENRE_WORDS = 3;
/** Answers and questions, which indicate a conversation. */
const TALKED =
  /^(?:yes|yeah|yep|no|nope|okay|ok|sure|right|really|thanks|thank you|ja|nein|doch|genau|danke|klar|oui|non|merci|d'accord|sí|vale|gracias|claro)(?!\p{L})|\?\s*$/iu;
/** Maximum share of such segments in a broadcast; interviews have some. */
const MAX_TALK = 0.34;
const MIN_SEGMENTS = 3;
/** A single speaker may be the owner, whose voice is not known yet. */
const MIN_SPEAKERS = 2;

/** Strangers who present something, in a conversation in which the owner is known. */
export function presentersIn(transcript: readonly Said[]): ReadonlySet<string> {
  if (!transcript.some(({ isUser }) => isUser)) return new Set();
  return new Set(transcript.filter(isPresented).map(({ speaker }) => speaker));
}

/** Returns whether only strangers speak, in the words of a broadcast, and hardly anybody answers. */
export async function isBroadcast(heard: readonly Said[], pace: Pace): Promise<boolean> {
  if (heard.some(each => !isOfStranger(each) && !saysNothing([each]))) return false; // "hm" of the owner
  const transcript = heard.filter(isOfStranger);
  const speakers = new Set(transcript.map(({ speaker }) => speaker));
  if (transcript.length < MIN_SEGMENTS || speakers.size < MIN_SPEAKERS) return false;
  let talk = 0;
  for (const { text } of transcript) if (TALKED.test(text.slice(0, MAX_CHARS).trim())) talk += 1;
  if (talk > transcript.length * MAX_TALK) return false;
  for (const each of transcript) {
    await pace();
    if (isPresented(each)) return true;
  }
  return isOfGenre(transcript, pace);
}

async function isOfGenre(transcript: readonly Said[], pace: Pace): Promise<boolean> {
  const said = GENRES.map(() => new Set<string>());
  for (const { text } of transcript) {
    await pace();
    const read = text.slice(0, MAX_CHARS).replaceAll('’', "'");
    for (const [genre, words] of GENRES.entries())
      for (const [word] of read.matchAll(words)) {
        said[genre]?.add(word.toLowerCase());
        if ((said[genre]?.size ?? 0) >= MIN_GENRE_WORDS) return true;
      }
  }
  return false;
}

function isOfStranger({ speaker, isUser }: Said): boolean {
  return !isUser && STRANGER.test(speaker);
}

function isPresented(segment: Said): boolean {
  return isOfStranger(segment) && PRESENTED.test(segment.text.slice(0, MAX_CHARS).replaceAll('’', "'"));
}
