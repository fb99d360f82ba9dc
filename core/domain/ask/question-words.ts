/** Splits a question into words, in the supported languages. Pure. */

export const LANGUAGES = ['en', 'de', 'fr', 'es'] as const;
export type AskedLanguage = (typeof LANGUAGES)[number];

/** Words that questions consist of, without information about their subject. */
const PLAIN: Record<AskedLanguage, string> = {
  en: `a about after again all also am an and any anything are as ask asked at be because been before being but by can
    could did do does doing done during each else ever exactly for from get give go going got had has have having he her
    here hers him his how i if in into is it its just know last let like long make many may me mean mention mentioned
    might mine more much must my myself no not now of off on one only or our out over own please remember remind s said
    say says see shall she should so some someone something speak such t talk talked tell than that the their them then
    there these they thing things this those through to told too up us very was we were what whats when where whether
    which while who whom whose why will with would yes you your`,
  de: `aber alle alles als also am an andere auch auf aus bei bin bis bitte da dabei damit dann daran darüber das dass dazu
    dein deine dem den denn der des dessen dich die dies diese dieser dieses dir doch du durch ein eine einem einen einer
    eines er erzähl erzählt es etwas euch für gab gegen gehabt geht gesagt gesprochen gewesen gibt hab habe haben hast hat
    hatte hatten hier ich ihm ihn ihnen ihr ihre im in ist ja jemand kann kannst können man mein meine meinem meinen meiner
    mich mir mit muss nach nicht nichts noch nochmal nun nur ob oder ohne sag sagen sagte sagten schon sehr sein seine sich
    sie sind so soll sollte über um und uns unser vom von vor war waren warum was wegen weiß welche welcher welches wem wen
    wenn wer werden wie wieder wieso will wir wird wo worden worüber wurde zu zum zur`,
  fr: `a ai alors après as au aussi autre aux avait avant avec avez avoir avons c ça car ce cela ces cet cette ceux chez
    comme comment combien d dans de depuis des dis dit dites donc dont du elle elles en encore est et était étaient été être
    eu eux fait faire faut il ils j je l la là le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre nous on
    ont ou où par parle parlé pas pendant peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi rien s sa
    sans se sera ses si sommes son sont suis sur t ta te tes toi ton tous tout toute très tu un une vais vers veux vos votre
    vous y`,
  es: `a acerca al algo alguien alguna alguno ante antes aquel aquella así aún bien cada como cómo con contra cual cuál cuáles
    cuando cuándo cuánto de decir del desde dice dicen dijeron dije dijo dime donde dónde dos e el él ella ellas ellos en entre
    era eran eres es esa ese eso esta está están estas este esto estos estuvo fue fueron ha había habla hablamos habló hace
    hacer hacia han hasta hay he hemos hizo la las le les lo los más me mi mis mismo mucho muy nada ni no nos nosotros o os
    otra otro para pero por porque puede pues que qué quien quién se sea según ser si sí sido sin sobre son soy su sus también
    tan te tengo tiene tienen todo todos tu tú tus un una uno unos va voy y ya yo`,
};

const WORDS = new Map(LANGUAGES.map(language => [language, new Set(plainWords(PLAIN[language]))]));
const ALL = new Set([...WORDS.values()].flatMap(words => [...words]));

/**
 * Words that refer to something said before: a question with one of them continues the previous one. Words that are
 * also articles are not included.
 */
const POINTING = new Set(
  plainWords(`he her hers him his it its she that their them there they this those these
    er ihn ihm ihr ihnen davon dazu daran darüber dort dabei damit
    il elle lui eux ça cela
    ella ellos ellas eso esto allí`),
);
/** First words that make a question continue the previous one. */
const ADDING = new Set(['and', 'or', 'und', 'oder', 'et', 'ou', 'y', 'o']);

/** Returns the words in lower case without accents, in order. */
export function plainWords(text: string): string[] {
  const plain = text.toWellFormed().normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Selects the words that carry the question's subject. */
export function tellingWords(words: readonly string[]): string[] {
  return words.filter(word => !ALL.has(word));
}

/** Whether a question cannot be understood without the one before. */
export function goesOn(words: readonly string[]): boolean {
  const begins = words[0] ?? '';
  return ADDING.has(begins) || words.some(word => POINTING.has(word)) || tellingWords(words).length === 0;
}

/**
 * Returns the language of most of its words.
 * @param otherwise language code of the reader, which decides where that is unclear; English where it is none of these
 */
export function languageOf(words: readonly string[], otherwise?: string | null): AskedLanguage {
  const counts = LANGUAGES.map(language => words.filter(word => WORDS.get(language)?.has(word)).length);
  const most = Math.max(...counts);
  const likely = LANGUAGES.filter((_, place) => counts[place] === most);
  return likely.find(language => otherwise?.toLowerCase().startsWith(language)) ?? likely[0] ?? 'en';
}
