import { phrases, table, withoutAccents, words } from '../tokens.ts';
import type { Holiday, Language, Verb } from './language.ts';

const SMALL =
  'uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve'.split(
    ' ',
  );
const TENS: [string, number][] = [
  ['treinta', 30],
  ['cuarenta', 40],
  ['cincuenta', 50],
];
const WEEKDAYS = 'lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo'.split(' ');
const MONTHS =
  'enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre'.split(
    ' ',
  );

const NUMBERS: [string, number][] = [
  ...SMALL.flatMap((word, index): [string, number][] => [
    [word, index + 1],
    [withoutAccents(word), index + 1],
  ]),
  ['un', 1],
  ['una', 1],
  ...TENS.flatMap(([tens, value]) => [
    [tens, value] as [string, number],
    ...SMALL.slice(0, 9).map((unit, index): [string, number] => [`${tens} y ${unit}`, value + index + 1]),
  ]),
];

const STRONG = `abrir acompañar anotar apagar apuntar arreglar avisar ayudar barrer buscar cambiar cancelar cargar cerrar cobrar
  cocinar coger colgar comprar comprobar confirmar contestar contratar copiar cortar coser dar dejar descargar devolver
  echar elegir empaquetar encargar enviar escribir explicar fregar hacer imprimir informar ingresar inscribir instalar invitar
  lavar limpiar llamar llenar llevar mandar mirar montar ordenar organizar pagar pasar pedir pintar planchar plantar poner
  preguntar preparar presentar prestar quitar recoger recordar redactar regar rellenar renovar reparar repasar reservar
  resolver revisar sacar secar solicitar subir tirar tomar traducir traer transferir vaciar vender verificar votar planear
  gestionar abonar matricular podar sembrar trasplantar lijar barnizar taladrar atornillar desatascar vacunar bañar cepillar hornear
  pelar descongelar congelar etiquetar fotocopiar escanear reenviar redactar repartir distribuir corregir publicar agradecer
  felicitar
  concertar adjuntar actualizar reclamar tramitar bajar ajustar avisar entregar guardar hablar apuntar tender
  firmar conseguir averiguar encender colocar cuidar sustituir añadir borrar eliminar pegar depositar retirar cubrir marcar contactar
  consultar coordinar convocar cumplimentar completar acabar aparcar alquilar calentar enfriar mezclar batir asar hervir calcular
  contar cotizar compartir desmontar empacar envolver enseñar facturar fijar formatear grabar investigar juntar localizar mover
  negociar notificar ofrecer pesar presupuestar programar proponer reiniciar rechazar recargar reembolsar reorganizar responder
  separar servir sellar solucionar soldar sumar suspender telefonear trasladar trapear acercar alcanzar aclarar agendar anular
  aplazar archivar asegurar componer rellenar remitir enmarcar encolar clavar atar forrar doblar recortar rallar freír aliñar
  aspirar desinfectar ventilar engrasar inflar cambiar desbloquear renombrar descolgar enchufar desenchufar duplicar traspasar
  liquidar saldar prorrogar denunciar alegar recurrir`;
const WEAK =
  'leer estudiar decir probar cambiar pasar poner tomar hacer dar tirar empezar terminar dejar echar coger mirar hablar';
const STATES = `andar beber comer correr dormir esperar estar ir jugar llegar quedar salir ser trabajar venir ver`;
const IRREGULAR_PRESENT: Readonly<Record<string, string>> = {
  hacer: 'hago',
  poner: 'pongo',
  traer: 'traigo',
  dar: 'doy',
  decir: 'digo',
  venir: 'vengo',
  salir: 'salgo',
  ir: 'voy',
  ver: 'veo',
  pedir: 'pido',
  devolver: 'devuelvo',
  encargar: 'encargo',
  recoger: 'recojo',
  coger: 'cojo',
  elegir: 'elijo',
  cerrar: 'cierro',
  colgar: 'cuelgo',
  regar: 'riego',
  fregar: 'friego',
  recordar: 'recuerdo',
  comprobar: 'compruebo',
  resolver: 'resuelvo',
  renovar: 'renuevo',
  enviar: 'envío',
  vaciar: 'vacío',
  transferir: 'transfiero',
  traducir: 'traduzco',
  jugar: 'juego',
  empezar: 'empiezo',
  probar: 'pruebo',
  tender: 'tiendo',
  conseguir: 'consigo',
  encender: 'enciendo',
  calentar: 'caliento',
  hervir: 'hiervo',
  contar: 'cuento',
  envolver: 'envuelvo',
  mover: 'muevo',
  ofrecer: 'ofrezco',
  proponer: 'propongo',
  componer: 'compongo',
  servir: 'sirvo',
  soldar: 'sueldo',
  freír: 'frío',
  averiguar: 'averiguo',
  sustituir: 'sustituyo',
  descolgar: 'descuelgo',
};
const IRREGULAR_FUTURE: Readonly<Record<string, string>> = {
  hacer: 'haré',
  poner: 'pondré',
  decir: 'diré',
  venir: 'vendré',
  salir: 'saldré',
};
const IRREGULAR_IMPERATIVES: Readonly<Record<string, string>> = {
  hacer: 'haz|haga',
  poner: 'pon|ponga',
  decir: 'di|diga',
  venir: 'ven|venga',
  salir: 'sal|salga',
  traer: 'trae|traiga',
  dar: 'da|dé',
  ir: 'vaya',
  pedir: 'pide|pida',
  devolver: 'devuelve|devuelva',
  recoger: 'recoge|recoja',
  coger: 'coge|coja',
  cerrar: 'cierra|cierre',
  colgar: 'cuelga|cuelgue',
  regar: 'riega|riegue',
  fregar: 'friega',
  recordar: 'recuerda|recuerde',
  comprobar: 'comprueba|compruebe',
  renovar: 'renueva|renueve',
  enviar: 'envía|envíe',
  pagar: 'paga|pague',
  llegar: 'llega',
  buscar: 'busca|busque',
  sacar: 'saca|saque',
  tender: 'tiende|tienda',
};
/** Forms that are more often nouns or mean something else. */
const NO_FIRST_PERSON = words(
  'trabajo cambio cuento encargo cargo juego cobro como recuerdo cocino estudio espero paso presto ordeno quedo vacio marco peso sello traslado contacto archivo sueldo junto calculo cuidado frio servicio doblo recorto registro pego',
);
const ENCLITICS = [
  '',
  'me',
  'te',
  'le',
  'lo',
  'la',
  'se',
  'nos',
  'les',
  'los',
  'las',
  'melo',
  'mela',
  'telo',
  'tela',
  'selo',
  'sela',
  'melos',
  'telos',
];

const weak = words(WEAK);
const states = words(STATES);
const verbs: Verb[] = [...new Set([...words(STRONG), ...weak, ...states])].map(infinitive => ({
  infinitive,
  isWeak: weak.has(infinitive) || states.has(infinitive),
  isState: states.has(infinitive),
}));

function presentOf(infinitive: string): string[] {
  return [IRREGULAR_PRESENT[infinitive] ?? `${infinitive.slice(0, -2)}o`];
}

const IRREGULAR_PARTICIPLES: Readonly<Record<string, string>> = {
  hacer: 'hecho',
  poner: 'puesto',
  proponer: 'propuesto',
  componer: 'compuesto',
  escribir: 'escrito',
  ver: 'visto',
  decir: 'dicho',
  abrir: 'abierto',
  cubrir: 'cubierto',
  devolver: 'devuelto',
  envolver: 'envuelto',
  resolver: 'resuelto',
  imprimir: 'impreso',
  freír: 'frito',
};

/** "Llamado", "recogido". */
function participleOf(infinitive: string): string {
  const ending = infinitive.endsWith('ar') ? 'ado' : 'ido';
  return IRREGULAR_PARTICIPLES[infinitive] ?? infinitive.slice(0, -2) + ending;
}

function imperativesOf(infinitive: string): string[] {
  const irregular = IRREGULAR_IMPERATIVES[infinitive];
  if (irregular !== undefined) return irregular.split('|');
  const stem = infinitive.slice(0, -2);
  return infinitive.endsWith('ar') ? [`${stem}a`, `${stem}e`] : [`${stem}e`, `${stem}a`];
}

function formsBy(formsOf: (infinitive: string) => string[], isWeak?: boolean): [string, Verb][] {
  return verbs.flatMap(verb =>
    formsOf(verb.infinitive).map((form): [string, Verb] => [
      withoutAccents(form),
      isWeak === undefined ? verb : { ...verb, isWeak },
    ]),
  );
}

/** With pronouns attached: "llamarle". */
function withEnclitics(forms: [string, Verb][]): [string, Verb][] {
  return forms.flatMap(([form, verb]) => ENCLITICS.map((clitic): [string, Verb] => [form + clitic, verb]));
}

export const spanish: Language = {
  code: 'es',
  stopWords: words(`
    a ah ahora al algo algún alguna alguno allí antes aquí así aún aunque bien bueno cada casi como cómo con creo cual cuando
    cuándo cuánto de del desde después donde dónde dos durante e el él ella ellas ellos en entonces entre era eran eres es esa
    ese eso esos esta está están estás este esto estos estoy fue fueron gracias ha había hace hacer haces hago han has hasta hay
    he hola hoy igual incluso ir ja la las le les lo los luego más me mi mí mientras mis mismo mucho muchos muy nada ni no nos
    nosotros nuestro nuestra o os otra otro para pero poco por porque pues que qué quien quién quiere quiero sabes sé se sea
    ser si sí siempre sin sobre sois solo sólo son soy su sus también tampoco tan tanto te ti tiene tienen tienes tengo toda
    todas todo todos tu tú tus un una uno unas unos usted va vale vamos van vas veces ver vez voy y ya yo mañana ayer noche
    tarde día días semana cosa cosas gente eh este pues digo dice dijo venga claro entonces ahí fuera estaba buenas buenos tendrás tendrá tendré tendremos
  `),
  dates: {
    numbers: table(NUMBERS),
    ordinals: table([['primero|uno', 1]]),
    weekdays: table(WEEKDAYS.map((name, index) => [name, { weekday: index + 1 }])),
    months: table(MONTHS.map((name, index) => [name, index + 1])),
    days: table([
      ['hoy|hoy mismo', { days: 0 }],
      ['esta mañana', { days: 0, minute: 9 * 60 }],
      ['esta tarde|esta misma tarde|hoy por la tarde|hoy en la tarde', { days: 0, minute: 16 * 60 }],
      ['esta noche|esta misma noche|hoy por la noche|hoy en la noche', { days: 0, minute: 20 * 60 + 30 }],
      [
        'antes de que acabe el día|antes de que termine el día|al final del día|a lo largo del día',
        { days: 0, minute: 18 * 60 },
      ],
      ['mañana', { days: 1 }],
      ['pasado mañana', { days: 2 }],
      ['mañana por la mañana|mañana a primera hora|a primera hora de mañana', { days: 1, minute: 9 * 60 }],
    ]),
    parts: table([
      ['por la mañana|a la mañana|de la mañana|en la mañana|a primera hora', 9 * 60],
      ['a última hora de la mañana|a media mañana', 11 * 60],
      ['a primera hora de la tarde', 16 * 60],
      ['a última hora de la tarde|a media tarde', 18 * 60],
      ['al mediodía|a mediodía', 12 * 60],
      ['por la tarde|a la tarde|de la tarde|en la tarde', 16 * 60],
      ['por la noche|de la noche|en la noche', 20 * 60 + 30],
      ['después de cenar|después de la cena', 21 * 60 + 30],
      ['después de comer|después de la comida', 16 * 60],
    ]),
    dayParts: table([['a primera hora', 9 * 60]]),
    units: table([
      ['minuto|minutos', 'minute'],
      ['hora|horas', 'hour'],
      ['día|días|dia|dias', 'day'],
      ['semana|semanas', 'week'],
      ['mes|meses', 'month'],
    ]),
    lengths: table([
      ['media hora', 30],
      ['un cuarto de hora', 15],
      ['tres cuartos de hora', 45],
      ['una hora', 60],
      ['una hora y media|hora y media', 90],
      ['un minuto', 1],
      ['una semana|ocho días', 7 * 1440],
      ['quince días', 14 * 1440],
      ['un día', 1440],
      ['un par de días', 2 * 1440],
      ['un par de horas', 120],
    ]),
    within: phrases('en|dentro de|de aquí a|en unos|en unas|en los próximos|en las próximas|en el plazo de'),
    fromNow: phrases(''),
    periods: table([
      ['esta semana|a lo largo de la semana|en la semana|antes de que acabe la semana', 'this week'],
      [
        'la semana que viene|la próxima semana|la semana próxima|después del fin de semana|después del finde',
        'next week',
      ],
      [
        'el fin de semana|este fin de semana|el finde|este finde|fin de semana|finde|el próximo fin de semana',
        'weekend',
      ],
      ['final de la semana|finales de semana|final de semana', 'end of week'],
      ['fin de mes|final de mes|finales de mes|final del mes', 'end of month'],
      ['el mes que viene|el próximo mes', 'next month'],
      ['fin de año|final de año', 'end of year'],
      ['navidad|nochebuena', 'christmas'],
      ['año nuevo', 'new year'],
    ]),
    edges: table([
      ['principios de|comienzos de|primeros de|inicios de|principio de', 'start'],
      ['mediados de|la mitad de', 'middle'],
      ['finales de|fines de|final de|fin de|el final de', 'end'],
    ]),
    stretches: table([
      ['esta semana|la semana', 'this week'],
      ['la semana que viene|la próxima semana|la semana próxima|semana que viene', 'next week'],
      ['mes|este mes|el mes', 'this month'],
      ['el mes que viene|el próximo mes|mes que viene|próximo mes', 'next month'],
      ['año|este año|el año', 'this year'],
      ['el año que viene|el próximo año|año que viene', 'next year'],
    ]),
    holidays: table<Holiday>([
      ['jueves santo', { easter: -3 }],
      ['viernes santo', { easter: -2 }],
      ['domingo de resurrección', { easter: 0 }],
      ['lunes de pascua', { easter: 1 }],
      ['san valentín', { month: 2, day: 14 }],
      ['todos los santos', { month: 11, day: 1 }],
      ['nochevieja', { month: 12, day: 31 }],
      ['el día de reyes', { month: 1, day: 6 }],
    ]),
    last: phrases('pasado'),
    every: phrases('cada|todos los|todas las|cada dos|los'),
    nextBefore: phrases('próximo|proximo'),
    nextAfter: phrases('que viene|próximo|proximo'),
    nextIsNextWeek: false,
    laterBefore: table([
      ['una semana después de|una semana después del', 7],
      ['dos semanas después de|dos semanas después del', 14],
    ]),
    laterAfter: table([
      ['en ocho días|de la semana que viene', 7],
      ['en quince días', 14],
    ]),
    thatBefore: phrases('ese'),
    relativeAfter: table([
      ['anterior|antes', 'before'],
      ['siguiente|después', 'after'],
    ]),
    relativeDays: table([
      ['el día antes|el día anterior|la víspera', -1],
      ['al día siguiente|el día siguiente|el día después', 1],
      ['una semana antes|la semana antes', -7],
      ['dos días antes', -2],
      ['una semana después|la semana siguiente', 7],
      ['ese día|el mismo día|la próxima vez|para entonces|hasta entonces', 0],
    ]),
    dayOfMonth: table([
      ['el día|el dia|para el día|antes del día', { isStrong: true }],
      ['el|del|al|para el', { isStrong: false }],
    ]),
    hasCardinalDays: true,
    ofMonth: phrases('de|del mes de'),
    at: phrases(
      'a las|a la|sobre las|hacia las|antes de las|después de las|las|de las|desde las|para las|hasta las|entre las|y las|la',
    ),
    oClock: phrases('en punto'),
    oClockIsEnough: true,
    halfBefore: table([]),
    quarter: table([]),
    past: phrases(''),
    to: phrases(''),
    hourTails: table([
      ['y media', 30],
      ['y cuarto', 15],
      ['menos cuarto', -15],
    ]),
    minuteJoins: table([
      ['y', 1],
      ['menos', -1],
    ]),
    namedTimes: table([
      ['mediodía|mediodia', 12 * 60],
      ['medianoche', 24 * 60 - 1],
    ]),
    meridiem: table([
      ['de la mañana|de la madrugada|am', 'am'],
      ['de la tarde|de la noche|pm', 'pm'],
    ]),
    through: phrases('a|y|hasta'),
    corrections: phrases('no espera|no espere|quiero decir|mejor|digamos|mejor dicho|perdón no|no perdón'),
    lead: words(
      'el la los las este esta al a en de del para antes por sobre hacia desde hasta y ya día próximo las aquí más tardar',
    ),
    counted: words(
      'por euros años veces kilos gramos personas grados páginas minutos meses días semanas miligramos pastillas niños litros',
    ),
  },
  acts: {
    isVerbLast: false,
    firstPerson: new Map([
      ...formsBy(presentOf).map(([form, verb]): [string, Verb] =>
        NO_FIRST_PERSON.has(form) ? [form, { ...verb, isNounToo: true }] : [form, verb],
      ),
      ...verbs.flatMap(({ infinitive }): [string, Verb][] => [
        // the accent distinguishes "llamaré" from "llamare": the form is looked up without it
        [withoutAccents(IRREGULAR_FUTURE[infinitive] ?? `${infinitive}é`), { infinitive, isWeak: false }],
      ]),
    ]),
    secondPerson: new Map(
      formsBy(infinitive =>
        imperativesOf(infinitive)
          .slice(0, 1)
          .map(form => `${form}s`),
      ),
    ),
    imperatives: new Map(withEnclitics(formsBy(imperativesOf))),
    infinitives: new Map(withEnclitics(formsBy(infinitive => [infinitive]))),
    gerunds: new Map(verbs.map(verb => [withoutAccents(participleOf(verb.infinitive)), verb])),
    subject: null,
    listener: null,
    clitics: words('te se le les lo la los las me os nos yo'),
    particles: words(''),
    promises:
      phrases(`vuelvo a|volveré a|voy a|paso a|paso luego a|tengo que|debo|necesito|he de|me toca|recuérdame que tengo que|recuérdame|recuerdame|recuérdame que|tendré que|tengo pendiente|me encargo de|yo me encargo de|no puedo olvidar|no se me puede olvidar|
      he prometido|prometí|te prometo|le prometo|quedé en|he quedado en|me comprometo a|me comprometí a|me he comprometido a|intentaré|procuraré|
      trataré de|estoy por|me queda por|aún tengo que|todavía tengo que|me voy a encargar de|no me puedo olvidar de|no puedo olvidarme de|
      que no se me pase|me acordaré de|
      ya voy a|que no se me olvide|voy a tener que|no olvidar|me falta|acordarme de|tengo que acordarme de`),
    wishes: phrases('quiero|debería|puedo|pienso|me gustaría'),
    sharedPromises: phrases('vamos a|tenemos que|debemos|hay que|habrá que|necesitamos'),
    requests:
      phrases(`me lo puedes|me la puedes|me los puedes|me las puedes|me lo puede|me la puede|me los puede|me las puede|nos lo puede|nos la puede|si usted pudiera|si pudieras|si puedes|si podés|si puede|puedes|podrías|me puedes|me podrías|puede|podría|tienes que|debes|deberías|tiene que|debe|necesito que|quiero que|
      me haces el favor de|me hace el favor de|serías capaz de|sería posible que|podrían|podríais|tendrías que|tendría que|tendrás que|
      tendrá que|habías quedado en|quedaste de|quedaste en|quedó en|te pido que|le pido que|te ruego que|le ruego que|me gustaría que|
      necesitaría que|necesito que me|acuérdate tú de|encárgate de|tú encárgate de|encárguese de|ocúpate de|ocúpese de|te importaría|
      si puedes|si me puedes|cuando puedas|a ver si puedes|a ver si me puedes|mira a ver si puedes|
      hace falta que|os importa|os importaría|le importaría|serías tan amable de|sería tan amable de|crees que podrías|podrás|podrá|
      si pudieras|si pudiera|si usted pudiera|te encargas de|se encarga de|me ayudas a|te importa|le importa|te importaría|haz el favor de|haga el favor de|por favor|me haces el favor de|te toca`),
    reminders:
      phrases(`recordar|no te olvides de|no se olvide de|no olvides|no olvide|acuérdate de|acuérdese de|acuerdate de|recuerda|recuerde|que no se te olvide|
      no te olvides|que no se le olvide|acordarse de|no se te olvide|ten en cuenta|nota para mí|no te vayas a olvidar de|acuérdate`),
    openRequests:
      phrases(`has|ya has|habéis|ya habéis|ha podido|alguien tiene que|quién puede|quien puede|hay que|hace falta|nos falta|nos faltan|faltan|falta|no queda|no quedan|
      necesitamos|tenemos que|alguien puede|alguien debería|habría que|alguien podría|alguien tendría que|quién va a|quién podría|quién quiere|
      quién se encarga de|habrá que|nos hace falta|uno de nosotros tiene que|quiero|necesito|me gustaría`),
    offers: phrases('quieres que te|quieres que|quiere que|queréis que|te puedo|le puedo|os puedo'),
    listMarks: phrases(
      'primero|segundo|tercero|número uno|número dos|número tres|número cuatro|luego|después|también|y luego|por último|y también|y',
    ),
    takings:
      phrases(`yo me encargo|me encargo|lo hago yo|yo lo hago|lo haré|ya lo hago yo|me ocupo|yo me ocupo|cuenta conmigo|déjamelo a mí|
      lo hago|eso lo hago yo|me encargo yo|ya me encargo|de eso me encargo|de eso me encargo yo|me ocupo yo|con mucho gusto|corre de mi cuenta|déjemelo a mí|me lo apunto|puedo hacerlo yo|lo puedo hacer yo|yo me ocupo de eso|me ocupo de eso|ya me ocupo yo|ya me ocupo|ya lo haré yo|
      déjamelo|déjemelo|eso es cosa mía|dalo por hecho|delo por hecho|lo tendrás|lo tendrá|los tendrás|te lo paso|te los paso|te las paso|te la paso|
      se lo paso|se los paso|yo lo haré|lo apunto|queda apuntado`),
    yes: phrases(`sí|si|vale|claro|claro que sí|por supuesto|de acuerdo|ok|okay|bien|muy bien|perfecto|hecho|bueno|entendido|
      sin problema|desde luego|venga|ya|sí sí|eso|apuntado|cómo no|sin falta|mañana sin falta|listo|dale|obvio|hecho|que sí|por supuesto que sí|con mucho gusto|con gusto|encantado|encantada|
      faltaría más|no hay problema|ningún problema|ahora mismo|genial|estupendo`),
    refusals: phrases(
      'no|lo siento|no puedo|imposible|ni hablar|nunca|qué va|de ninguna manera|no quiero|hoy no|ni loco|ni loca',
    ),
    done: phrases(
      'ya|ya está|ya lo hice|ya lo he hecho|ya lo tengo|toma|aquí tiene|aquí tienes|ya lo|ya la|ya los|ya las|ayer|ya he|ya están',
    ),
    cancels: phrases(`déjalo|dejalo|no hace falta|olvídalo|olvidalo|no te preocupes|ya no|mejor no|no importa|
      no es necesario|da igual|otro día|otra vez será|ahora no`),
    negations: words('no nunca jamás nada nadie ningún ninguna ninguno tampoco ni'),
    noPlanBefore:
      phrases(`si|algún día|un día de estos|me llamo|quizás|quizá|tal vez|a lo mejor|dijo|dice|decía|me dice|imagínate|ojalá|cuando era|antes de que|habría|hubiera|
      me gustaría|igual|puede que|por si|quién sabe si|contó|cita|según|por qué|cómo`),
    noPlanInside:
      phrases(`algún día|no|nunca|jamás|siempre|normalmente|a veces|ya|ahora mismo|ahora|cada día|todos los días|cada semana|
      es broma|o no|nada|suelo|desde|casi nunca|ningún|ninguna|hace`),
    clauseStarts:
      phrases(`porque|pero|si|sino|pues|entonces|y yo|y tú|y él|y ella|y si|y no|y luego|y me|y te|y la|y el|y los|y lo|y así|y que|y a|
      cuando|donde|aunque|vale|gracias|adiós|que|yo|tú|él|ella|es|son|está|no|sí|o si|así que|a ver|bueno|claro|oye|mira|ya|hasta luego|quién|
      cuál|cómo|dime|dígame|puedes|tienes|tiene|hay|y acuérdate|y recuerda|y trae|y compra|y llama|y tráeme|eso|y voy|y tengo`),
    personal: words('le les'),
    pronouns: words(
      'lo la los las le les se eso esto ese esa esos esas todo me te nos os mí ti ello otro otra uno una',
    ),
    reflexives: words('se'),
    determiners: words(
      'el la los las un una unos unas mi mis tu tus su sus nuestro nuestra este esta estos estas ese esa del al dos tres cuatro',
    ),
    prepositions: words('a al de del en con por para sin sobre desde hasta hacia entre'),
    toMe: phrases('me|a mí|para mí'),
    toYou: phrases('te|a ti|para ti|le|os'),
    yours: new Map([
      ['tu', 'mi'],
      ['tus', 'mis'],
    ]),
    fillers: words(
      'eh este pues bueno por favor también luego entonces solo ya vale hija hijo mamá papá oye mira venga ahora yo tú usted antes',
    ),
    appointments:
      words(`cita reunión dentista médico comida cena desayuno almuerzo vuelo tren entrevista fiesta concierto ensayo boda examen
      partido clase curso cumpleaños cumple visita entrega operación entierro torneo película obra conferencia excursión viaje salida
      fisio veterinario peluquería audición congreso seminario charla formación asado barbacoa técnico fontanero perito misa
      funeral despedida estreno
      llegada revisión junta asamblea taller sesión consulta bautizo comunión feria radiografía resonancia inspección
      inauguración mudanza graduación ecografía eco analítica análisis vacuna gasista electricista cerrajero tutoría función
      desfile verbena romería merienda brunch recital competición carrera maratón kermés posada quinceañera subasta exposición
      presentación campamento concurso oposición selectividad sorteo rastrillo mercadillo gala yoga natación`),
    happenings:
      phrases(`empieza|empiezan|sale|salimos|salen|llega|llegan|llegamos|viene|vienen|quedamos|comemos|cenamos|nos vemos|nos juntamos|aterriza|despega|
      me mudo|nos mudamos|a comer|a cenar|vengan|venga|es a las`),
    copulas: words('es será son cae empieza'),
    over: words('era fue ayer estaba había tuvo estuvo pasado'),
    deadlines: words('antes para hasta'),
    momentary: words(
      'abrir cerrar esperar pasar sentar mirar parar hablar decir probar girar apretar repetir escuchar empujar tirar encender apagar sujetar dar enseñar',
    ),
    carrying: words('traer llevar poner cocinar preparar'),
    joining: words('recoger buscar venir ir llevar traer pasar salir'),
    sharing: phrases(`quién hace|quién lleva|quién trae|quién se encarga|quién compra|quién quiere`),
    emphatic: phrases('yo'),
    soon: phrases(
      `luego|más tarde|de camino|al salir|a la vuelta|después del trabajo|cuando salga|cuando llegue a casa|al volver|después`,
    ),
    statives:
      words(`ser estar haber tener poder deber querer saber creer pensar esperar amar odiar sentir entender conocer vivir morir
      olvidar gustar parecer ganar perder`),
    infinitiveEnding: /^\p{Ll}+[aei]r(?:(?:me|te|se|le|les|nos)?(?:l[oa]s?)?)$/u,
    musts: phrases(
      'necesita|necesitan|tiene que|tienen que|hay que|debe|deben|habría que|falta|faltan|hace falta',
    ),
  },
};
