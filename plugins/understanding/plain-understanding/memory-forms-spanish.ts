/**
 * The forms of Spanish sentences that state a lasting fact. First-person verbs are read as third-person ones.
 */
import type { Grammar, Predicate } from './memory-form.ts';

const PEOPLE =
  /^(?:cuñado|cuñada|suegro|suegra|sobrino|sobrina|nieto|nieta|compañero|compañera|yerno|nuera|marido|mujer|esposo|esposa|pareja|novio|novia|hija|hijo|madre|padre|mamá|papá|hermana|hermano|abuela|abuelo|tía|tío|prima|primo|amiga|amigo|vecina|vecino|jefe|jefa|médico|médica|dentista|casero|casera|profesor|profesora|padres|hijos|hijas|hermanos|abuelos)$/iu;
const PARENT =
  /^(?:marido|mujer|esposo|esposa|madre|padre|mamá|papá|hermana|hermano|abuela|abuelo|tía|tío|amiga|amigo)$/iu;
const PET = /^(?:perro|perra|gato|gata|caballo|conejo|loro|tortuga)$/iu;
/** The speaker, or people of theirs. */
const ANYBODY_OF =
  /^(?:|cuñado|cuñada|suegro|suegra|sobrino|sobrina|nieto|nieta|compañero|compañera|yerno|nuera|marido|mujer|esposo|esposa|pareja|novio|novia|hija|hijo|madre|padre|mamá|papá|hermana|hermano|abuela|abuelo|tía|tío|prima|primo|amiga|amigo|vecina|vecino|jefe|jefa|médico|médica|dentista|casero|casera|profesor|profesora|padres|hijos|hijas|hermanos|abuelos)$/iu;
const NAME = /^(?:don |doña |doctora? |el señor |la señora )?\p{Lu}/u;
const PLACE = /^\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*){0,2}/u;

/** First-person verbs by their third-person form. */
const THIRD: Readonly<Record<string, string>> = {
  soy: 'es',
  entreno: 'entrena',
  aprendí: 'aprendió',
  sufro: 'sufre',
  manejo: 'maneja',
  somos: 'es',
  estoy: 'está',
  estamos: 'está',
  vivo: 'vive',
  vivimos: 'vive',
  trabajo: 'trabaja',
  trabajamos: 'trabaja',
  tengo: 'tiene',
  tenemos: 'tiene',
  bebo: 'bebe',
  tomo: 'toma',
  como: 'come',
  comemos: 'come',
  hablo: 'habla',
  hablamos: 'habla',
  odio: 'odia',
  nací: 'nació',
  crecí: 'creció',
  toco: 'toca',
  juego: 'juega',
  corro: 'corre',
  nado: 'nada',
  estudio: 'estudia',
  estudié: 'estudió',
  sé: 'sabe',
  puedo: 'puede',
  aguanto: 'aguanta',
  soporto: 'soporta',
  fumo: 'fuma',
  conduzco: 'conduce',
  canto: 'canta',
  colecciono: 'colecciona',
  aprendo: 'aprende',
  llevo: 'lleva',
  llevamos: 'lleva',
  padezco: 'padece',
  uso: 'usa',
  vengo: 'viene',
  voy: 'va',
  hago: 'hace',
  practico: 'practica',
  monto: 'monta',
  dejé: 'dejó',
  calzo: 'calza',
  levanto: 'levanta',
  acuesto: 'acuesta',
  despierto: 'despierta',
  veo: 've',
  hemos: 'ha',
  he: 'ha',
  crié: 'crió',
  criamos: 'crió',
  mudamos: 'mudó',
  mudé: 'mudó',
};
/** Spanish omits first-person pronouns; `yo` is inserted where one would stand. */
const FIRST_PERSON =
  /(?<!\p{L})(?<!yo )(?<!(?:el|un|mi|tu|su|de|del|al|este|ese|encontró|encontrado|buscando|mucho|buen|nuevo|hay|mi|lo|tan|y|así|tal|algo) (?=trabajo|estudio|uso|como|canto|toco))(?:(?:no|nunca) )?(?:(?:me|nos) )?(?:soy|somos|estoy|estamos|vivo|vivimos|trabajo|trabajamos|tengo|tenemos|bebo|tomo|como|comemos|hablo|hablamos|odio|nací|crecí|toco|juego|corro|nado|estudio|estudié|sé|puedo|aguanto|tolero|soporto|fumo|conduzco|canto|colecciono|aprendo|aprendí|entreno|sufro|manejo|conozco|dieron|llevo|llevamos|padezco|uso|vengo|voy|mudamos|mudé|hemos mudado|he mudado|divorciamos|divorcié|separamos|separé|jubilé|he dejado|hemos dejado|dejé|levanto|acuesto|despierto|calzo|hago|practico|monto|era|crié|criamos|uso|veo|puedo|encanta|encantan|gusta|gustan|da miedo|dan miedo)(?!\p{L})/giu;

const PLURAL: Readonly<Record<string, string>> = {
  vive: 'viven',
  es: 'son',
  tiene: 'tienen',
  viene: 'vienen',
  trabaja: 'trabajan',
};

export const spanishGrammar: Grammar = {
  own: new Set(['yo', 'nosotros', 'nosotras']),
  listener: new Set(['tú']),
  third: new Set(['él', 'ella']),
  polite: 'usted',
  second: {
    eres: 'es',
    es: 'es',
    tienes: 'tiene',
    tiene: 'tiene',
    vives: 'vive',
    vive: 'vive',
    trabajas: 'trabaja',
    trabaja: 'trabaja',
    tomas: 'toma',
    toma: 'toma',
  },
  possessives: new Set(['mi', 'mis', 'nuestro', 'nuestra', 'nuestros', 'nuestras']),
  adjectives: new Set('mejor nuevo nueva pequeño pequeña gran'.split(' ')),
  noFactBefore:
    /(?<!\p{L})(?:si|imagina|imagínate|soñé|soñaba|ojalá|habría|hubiera|dijo|dice|decía|dicen|preguntó|pensaba|creía|cuando|antes|quizás|quizá|tal vez|igual|parece)(?!\p{L})/iu,
  asked: /(?:^| )(?:por qué|cómo|dónde|quién|acaso)$/i,
  turn: / (?:pero|porque|sino|total) /i,
  end: /[.!?;,…:]| (?:porque|pero|así que|entonces|cuando|si|aunque|como ya|verdad|eh|sí|no|claro|ya sabes|sabes|y (?:yo|tú|él|ella|luego|entonces|mi|no|me|así|ahora)|yo|tú|él|ella|que|o|pues|desde que)(?!\p{L})/iu,
  looseEnd:
    / (?:el|la|los|las|un|una|de|del|y|o|a|al|en|con|para|por|que|ahora|también|aquí|ahí|allí|ya|todavía|mucho|bien|eh)$/iu,
  unclear:
    /^(?:eso|esto|esta|este|ese|esa|ello|lo|nada|algo|todo|mañana|hoy|ayer|cómo|qué|cuando|ir|que|ver|hacer)(?!\p{L})/iu,
  passing:
    /(?<!\p{L})(?:hoy|esta (?:noche|mañana|tarde|semana)|este (?:fin de semana|mes)|mañana por|pasado mañana|ayer|ahora mismo|en este momento|en (?:un|cinco|diez) (?:minutos?|rato)|la semana que viene|el (?:mes|año) que viene)(?!\p{L})/iu,
  vagueEnd: / (?:eso|esto|ello|él|ella)$/i,
  prepare: text =>
    text.replaceAll(FIRST_PERSON, said => `yo ${said.charAt(0).toLowerCase()}${said.slice(1)}`),
  follow: rest => {
    const plain = rest.replaceAll(
      / (?:también|todavía|realmente|por desgracia|desgraciadamente|muy|bastante|siempre|la verdad es que|ya)(?= )/giu,
      '',
    );
    return plain.replace(
      /^((?: (?:no|nunca|me|nos|le|se))*) (\p{L}+)/iu,
      (_, before: string, verb: string) => {
        const clitics = before.replace(/ (?:me|nos)$/i, ' le');
        return `${clitics} ${THIRD[verb.toLowerCase()] ?? verb}`;
      },
    );
  },
  theirs: (name, relation) => `${relation} de ${name}`,
  plural: text =>
    text.replace(/ (vive|es|tiene|viene|trabaja)(?!\p{L})/u, (_, verb: string) => ` ${PLURAL[verb]}`),
};

export const SPANISH_PREDICATES: readonly Predicate[] = [
  { of: ANYBODY_OF, after: /^ está (?<value>en una residencia(?: .+)?)/u, say: 'está {}', maxWords: 5 },
  {
    of: ANYBODY_OF,
    after:
      /^ (?<value>no (?:tolera|come|puede comer) (?:(?:el|la|los|las) )?(?:carne|pescado|lactosa|gluten|huevos?|marisco|cerdo|picante|frutos secos|lácteos|leche)(?!\p{L}))/u,
    say: '{}',
    maxWords: 5,
  },
  {
    of: ANYBODY_OF,
    after: /^ (?<value>(?:es|son) (?:alérgic[oa]s?|intolerantes?) (?:al? |a la |a los |a las ).+)/u,
    say: '{}',
    maxWords: 5,
  },
  {
    of: ANYBODY_OF,
    after: /^ (?<value>tiene (?:alergia|intolerancia) (?:al? |a la |a los ).+)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?<value>(?:es|está) (?:vegetarian[oa]|vegan[oa]|diabétic[oa]|asmátic[oa]|celíac[oa]|zurd[oa]|daltónic[oa]|disléxic[oa]|epiléptic[oa]|divorciad[oa]s?|casad[oa]s?|viud[oa]|jubilad[oa]|solter[oa]|embarazada|sord[oa]|hij[oa] únic[oa]|católic[oa]|musulmana?|judí[oa]|budista|bilingüe|operad[oa] de .+)(?!\p{L})(?: desde .+)?)/u,
    say: '{}',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?<value>es (?:una? )?(?:profesora?|maestr[oa]|enfermer[oa]|médic[oa]|doctora?|dentista|fisio|farmacéutic[oa]|abogad[oa]|notari[oa]|juez|jueza|contable|ingenier[oa]|arquitect[oa]|informátic[oa]|programadora?|diseñadora?|periodista|traductora?|peluquer[oa]|panader[oa]|carnicer[oa]|cociner[oa]|camarer[oa]|dependient[ae]|fontaner[oa]|electricista|carpinter[oa]|albañil|pintora?|jardiner[oa]|agricultora?|bomber[oa]|policía|militar|piloto|taxista|conductora?|carter[oa]|secretari[oa]|bibliotecari[oa]|músic[oa]|actor|actriz|fotógraf[oa]|estudiante|investigadora?|psicólog[oa]|veterinari[oa]|funcionari[oa]|mecánic[oa]|miner[oa]|autónom[oa]|costurera|sastre)(?!\p{L})(?: (?:de|del|en) .+)?)/u,
    say: '{}',
    topic: 'work',
    maxWords: 6,
  },
  {
    of: ANYBODY_OF,
    after: /^ viven? (?:ahora )?en (?<value>.+)/u,
    say: 'vive en {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  {
    after:
      /^(?: (?:nos|se|le|me))? (?:mudó|mudaron|hemos mudado|he mudado|ha mudado|han mudado) a (?<value>.+)/u,
    say: 'vive en {}',
    topic: 'home',
    is: PLACE,
    maxWords: 3,
  },
  { of: ANYBODY_OF, after: /^ vive (?<value>sol[oa]|con .+)(?!\p{L})/u, say: 'vive {}', maxWords: 4 },
  {
    of: ANYBODY_OF,
    after:
      /^ tienen? (?<value>(?:una?|dos|tres|cuatro|cinco|seis) (?:\p{L}+ )?(?:hij[oa]s?|herman[oa]s?|niet[oa]s?|gemel[oa]s|mellizos|perr[oa]s?|gat[oa]s?|caballos?|huerto|barco|caravana|casa en \p{Lu}\p{L}+)(?!\p{L})(?: que se llaman? \p{Lu}\p{L}+)?)/u,
    say: 'tiene {}',
    maxWords: 7,
  },
  {
    of: ANYBODY_OF,
    after:
      /^ (?:tiene|padece) (?<value>(?:asma|diabetes|migrañas?|vértigo|hipertensión|la tensión alta|el colesterol alto|azúcar|artritis|artrosis|epilepsia|alzheimer|demencia|parkinson|cáncer|marcapasos|un marcapasos|fobia a .+|miedo a(?:l| la| las| los)? .+|ciática|celiaquía|hipotiroidismo))/u,
    say: 'tiene {}',
    maxWords: 5,
  },
  {
    of: ANYBODY_OF,
    after: /^ trabajan? (?<value>(?:de|como|en|para) .+)/u,
    say: 'trabaja {}',
    topic: 'employer',
    maxWords: 6,
  },
  {
    after:
      /^ (?<value>(?:no|nunca) (?:come|bebe|toma|prueba|fuma|conduce|soporta|aguanta) (?!más|nada|esto|eso)\p{L}.+)/u,
    say: '{}',
    maxWords: 5,
  },
  { after: /^ (?<value>no (?:fuma|bebe|conduce))(?! \p{L})/u, say: '{}' },
  {
    after:
      /^ (?<value>no (?:sabe|puede) (?:nadar|conducir|cocinar|comer .+|beber .+|montar en bici|cantar))/u,
    say: '{}',
    maxWords: 5,
  },
  {
    after: /^ (?<value>no tiene (?:coche|carné|hijos|tele|móvil|hermanos|mascotas|jardín))(?!\p{L})/u,
    say: '{}',
  },
  { after: /^ le encantan? (?<value>(?:el|la|los|las) .+)/u, say: 'le encanta {}', maxWords: 3 },
  {
    after: /^ (?<value>no puede con (?:el|la|los|las) \p{L}+)/u,
    say: '{}',
  },
  { after: /^ (?<value>no le gustan? (?:el|la|los|las) .+)/u, say: '{}', maxWords: 5 },
  { after: /^ le dan? miedo (?<value>(?:el|la|los|las|volar) ?.*)/u, say: 'le da miedo {}', maxWords: 3 },
  { after: /^ (?<value>odia (?:el|la|los|las) \p{L}.+)/u, say: '{}', maxWords: 4 },
  {
    after:
      /^ toca (?<value>(?:el (?:piano|violín|violonchelo|clarinete|saxofón|bajo|acordeón)|la (?:guitarra|flauta|trompeta|batería|viola)|en una? (?:banda|grupo|orquesta)))(?!\p{L})/u,
    say: 'toca {}',
  },
  {
    after: /^ juega (?<value>al? (?:tenis|fútbol|pádel|ajedrez|baloncesto|golf|balonmano)(?!\p{L}))/u,
    say: 'juega {}',
  },
  {
    after:
      /^ (?<value>está en (?:un equipo|el equipo|un coro|el coro|una banda|la banda|un grupo)(?: de \p{L}+)?)/u,
    say: '{}',
  },
  { after: /^ (?<value>canta en .+)/u, say: '{}', maxWords: 5 },
  {
    after:
      /^ habla (?<value>(?:inglés|alemán|francés|español|italiano|portugués|polaco|ruso|árabe|turco|chino|japonés|catalán|gallego|euskera|vasco|rumano|holandés)(?: y (?:inglés|alemán|francés|italiano|portugués|polaco|ruso|catalán))?)/u,
    say: 'habla {}',
  },
  {
    after:
      /^ (?:está aprendiendo|aprende|estudia) (?<value>(?:inglés|alemán|francés|italiano|portugués|polaco|ruso|árabe|chino|japonés|catalán|euskera|piano|guitarra|violín|a tocar .+))/u,
    say: 'aprende {}',
    maxWords: 4,
  },
  { after: /^ nació (?<value>(?:en|el) .+)/u, say: 'nació {}', topic: 'birth', maxWords: 4 },
  { after: /^ creció (?<value>en .+)/u, say: 'creció {}', topic: 'childhood', maxWords: 4 },
  {
    of: ANYBODY_OF,
    after: /^ (?:es|son|viene|vienen) de (?<value>\p{Lu}\p{L}+)/u,
    say: 'es de {}',
    topic: 'origin',
  },
  {
    after: /^ (?<value>toma (?:pastillas|medicación|insulina|anticoagulantes|\p{L}+) (?:para|contra) .+)/u,
    say: '{}',
    maxWords: 7,
  },
  {
    after:
      /^ estudia (?<value>(?:derecho|medicina|\p{L}+ía|\p{L}+ica|historia|económicas|magisterio|filología|arte|química|física))(?!\p{L})/u,
    say: 'estudia {}',
    topic: 'studies',
  },
  {
    after:
      /^ lleva (?<value>(?:audífonos?|gafas|lentillas|un marcapasos|marcapasos|prótesis|ortodoncia))(?!\p{L})/u,
    say: 'lleva {}',
  },
  {
    after: /^(?: le)? (?:divorciamos|divorcié|separamos|separé)(?!\p{L})/u,
    say: 'se divorció',
    topic: 'state',
  },
  { after: /^(?: le)? jubilé(?!\p{L})/u, say: 'se jubiló', topic: 'retirement' },
  {
    after:
      /^ trabaja (?<value>desde casa|por turnos|a media jornada|por las (?:noches|mañanas|tardes))(?!\p{L})/u,
    say: 'trabaja {}',
  },
  { after: /^ colecciona (?<value>.+)/u, say: 'colecciona {}', maxWords: 3 },
  {
    after:
      /^ (?<value>(?:va|corre|nada|juega|canta|baila|camina|trabaja|come) .*(?:tod[oa]s l[oa]s (?:días|mañanas|tardes|noches|lunes|martes|miércoles|jueves|viernes|sábados|domingos|veranos)|cada (?:día|mañana|semana|domingo|verano)))/u,
    say: '{}',
    maxWords: 10,
  },
  {
    after:
      /^ lleva (?<value>.{2,20} años (?:casad[oa]s?|juntos|viviendo en .+|trabajando (?:en|de|como) .+))/u,
    say: 'lleva {}',
    maxWords: 8,
  },
  {
    of: PEOPLE,
    after: /^ se llaman? (?<value>.+)/u,
    say: 'se llama {}',
    topic: 'name',
    holds: NAME,
    maxWords: 2,
  },
  { of: PET, after: /^ se llama (?<value>.+)/u, say: 'se llama {}', topic: 'name', holds: NAME, maxWords: 1 },
  {
    of: PEOPLE,
    after: /^ es (?<value>(?:el señor|la señora|don|doña|el doctor|la doctora) \p{Lu}\p{L}+)/u,
    say: 'es {}',
  },
  { of: PEOPLE, after: /^ (?<value>\p{Lu}\p{Ll}+)(?! \p{Lu})/u, say: 'se llama {}', maxWords: 1 },
  { of: PARENT, after: /^ (?:murió|falleció|ha muerto)(?!\p{L})/u, say: 'murió', topic: 'life' },
  {
    of: PARENT,
    after: /^ era (?<value>\p{L}+)(?: |$)/u,
    say: 'era {}',
    holds: /(?:er[oa]|ora?|ist[ao]|ari[oa]|nte|sastre|militar|albañil)$/u,
  },
  {
    of: PEOPLE,
    after: /^ tiene (?<value>\p{L}+(?: y \p{L}+)? años)(?!\p{L})/u,
    say: 'tiene {}',
    topic: 'age',
  },
  { of: /^cumpleaños$/i, after: /^ es (?<value>(?:el|en) .+)/u, say: 'es {}', topic: 'day', maxWords: 4 },
  {
    of: /^(?:plato|color|libro|película|grupo|cantante|equipo|comida|postre|fruta|lengua)$/i,
    after: /^ (?<value>(?:favorit[oa]|preferid[oa]|matern[oa]) es .+)/u,
    say: '{}',
    maxWords: 5,
  },
];
