/**
 * Dialogues as recognisers write them: Ada is the owner, Anna and Ben are known, speakers 3 and 5 are not.
 */
interface Dialogue {
  said: string;
  /** Expected tasks, each with its due date in the owner's local time. */
  tasks: readonly string[];
}

/** All are said on Thursday, 12 March 2026, at 9:00 in Berlin. */
export const DIALOGUES: Readonly<Record<string, readonly Dialogue[]>> = {
  en: [
    {
      said: "A: are you paying the deposit tonight / O: no I'll do it on Friday",
      tasks: ['Pay the deposit @ 2026-03-13 12:00'],
    },
    {
      said: "O: so I'm planning on giving the accounts department a ring today",
      tasks: ['Give the accounts department a ring @ 2026-03-12 12:00'],
    },
    {
      said: "A: Any chance you could chase the agency? / O: Yep, I'll drop them a line tomorrow.",
      tasks: ['Chase the agency @ 2026-03-13 12:00'],
    },
    {
      said: "O: Don't let me forget the car tax, it's due on Friday.",
      tasks: ['The car tax @ 2026-03-13 12:00'],
    },
    {
      said: "A: Who wants the history part? / O: I'm doing the conclusion.",
      tasks: ['Do the conclusion'],
    },
    {
      said: 'O: I can redo the poster. / A: Great.',
      tasks: ['Redo the poster'],
    },
    {
      said: "O: I'll send the quote by close of play tomorrow.",
      tasks: ['Send the quote @ 2026-03-13 18:00'],
    },
    {
      said: "O: I'll sign the proofs by the end of next week.",
      tasks: ['Sign the proofs @ 2026-03-20 12:00'],
    },
    {
      said: "O: I'll call the bank early next week.",
      tasks: ['Call the bank @ 2026-03-16 12:00'],
    },
    {
      said: "O: I'll pay the deposit by mid June.",
      tasks: ['Pay the deposit @ 2026-06-15 12:00'],
    },
    {
      said: "O: I'll pay the deposit by the end of next month.",
      tasks: ['Pay the deposit @ 2026-04-30 12:00'],
    },
    {
      said: "O: I'll book the scan in two weeks' time.",
      tasks: ['Book the scan @ 2026-03-26 12:00'],
    },
    {
      said: "O: I'll order the cake before Easter.",
      tasks: ['Order the cake @ 2026-04-05 12:00'],
    },
    {
      said: "O: I'll call them on the Tuesday after Easter.",
      tasks: ['Call them @ 2026-04-07 12:00'],
    },
    {
      said: "O: I'll call the office the week after next.",
      tasks: ['Call the office @ 2026-03-23 12:00'],
    },
    {
      said: "O: I'll phone the vet after the weekend.",
      tasks: ['Phone the vet @ 2026-03-16 12:00'],
    },
    {
      said: "O: I'll mail the forms the Monday after next.",
      tasks: ['Mail the forms @ 2026-03-23 12:00'],
    },
    {
      said: "A: you still haven't filled in the expenses form / O: sorry, I'll do it tomorrow.",
      tasks: ['Fill in the expenses form @ 2026-03-13 12:00'],
    },
    {
      said: "A: How is the report coming along? / O: You'll have it by Friday.",
      tasks: ['The report @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Would you mind watering the roses? / O: No, of course not.',
      tasks: ['Water the roses'],
    },
    {
      said: "A: who's going to ring the council? / O: I don't mind doing that.",
      tasks: ['Ring the council'],
    },
    {
      said: "A: could you keep the bikes out of the hall by Friday? / O: I'll have them out by then.",
      tasks: ['Keep the bikes out of the hall @ 2026-03-13 12:00'],
    },
    {
      said: "A: I'd need you to sign the lease this week. / O: not a problem",
      tasks: ['Sign the lease @ 2026-03-13 12:00'],
    },
    {
      said: 'O: Note to self. Got to renew the car registration before the end of the month.',
      tasks: ['Renew the car registration @ 2026-03-31 12:00'],
    },
    {
      said: 'O: Note to self. Need a new filter for the fridge.',
      tasks: ['New filter for the fridge'],
    },
    { said: 'A: any chance you could chase the agency? / O: Yep.', tasks: ['Chase the agency'] },
    {
      said: 'A: Would you mind calling the plumber? / O: Sure, tomorrow.',
      tasks: ['Call the plumber @ 2026-03-13 12:00'],
    },
    {
      said: "A: The invoice wants paying. / O: Oh yes. I'll do that tomorrow.",
      tasks: ['The invoice wants paying @ 2026-03-13 12:00'],
    },
    {
      said: "A: Ask your dad about the wiring. / O: I'll give him a call tomorrow.",
      tasks: ['Ask my dad about the wiring @ 2026-03-13 12:00'],
    },
    {
      said: "A: I need a shoebox for Monday. / O: A shoebox, right, I'll find you one.",
      tasks: ['Find Anna a shoebox @ 2026-03-16 12:00'],
    },
    {
      said: "O: I'll have to ask my boss, I'll let you know by Friday.",
      tasks: ['Ask my boss @ 2026-03-13 12:00'],
    },
    {
      said: "O: I'll book the back room at Rosie's. Let me do that this week.",
      tasks: ["Book the back room at Rosie's @ 2026-03-13 12:00"],
    },
    {
      said: "O: They said any time, so I'll call the garage on Monday.",
      tasks: ['Call the garage @ 2026-03-16 12:00'],
    },
    {
      said: "A: You'll need to send us the form. / O: Okay. I'll buy stamps tonight.",
      tasks: ['Send us the form', 'Buy stamps @ 2026-03-12 20:00'],
    },
    {
      said: "A: Who's got the first-aid kit? / O: Me, in the garage. I'll bring it on Friday.",
      tasks: ['Bring the first-aid kit @ 2026-03-13 12:00'],
    },
    {
      said: "O: I'll collect the car on Friday after work.",
      tasks: ['Collect the car after work @ 2026-03-13 12:00'],
    },
    {
      said: 'A: can you send me the invoice by friday / O: sure',
      tasks: ['Send Anna the invoice @ 2026-03-13 12:00'],
    },
    {
      said: "A: the finance people want the numbers by friday at five / O: yes numbers to you by friday five o'clock no problem",
      tasks: ['Numbers to Anna @ 2026-03-13 17:00'],
    },
    { said: "A: somebody needs to book the room / O: I'll do it", tasks: ['Book the room'] },
    {
      said: "A: did anyone renew the certificate / O: I can take that I'll get it done by friday",
      tasks: ['Renew the certificate @ 2026-03-13 12:00'],
    },
    {
      said: "O: I'll circulate the quotes before the weekend",
      tasks: ['Circulate the quotes @ 2026-03-14 12:00'],
    },
    {
      said: "A: the launch is on the twenty third / O: okay I'll send the email the day after",
      tasks: ['Send the email @ 2026-03-24 12:00'],
    },
    {
      said: "A: I have to be there on friday the twentieth at seven / O: I'll pick you up at half past six",
      tasks: ['Pick Anna up @ 2026-03-20 06:30'],
    },
    {
      said: "O: I'll send Ben the forms and the letter. I'll post the forms tomorrow.",
      tasks: ['Send Ben the forms @ 2026-03-13 12:00'],
    },
    {
      said: "A: four pounds for the trip please / O: four pounds okay I'll put it in your bag tonight",
      tasks: ['Put four pounds in your bag @ 2026-03-12 20:00'],
    },
    {
      said: "O: friday the twentieth at half past eight I'll pick it up then",
      tasks: ['Pick it up @ 2026-03-20 08:30'],
    },
    {
      said: "A: we meet on saturday at eight / O: okay I'll bring the tent",
      tasks: ['Bring the tent @ 2026-03-14 08:00'],
    },
    {
      said: 'O: note to self number one renew the domain it expires on the second of april / O: number two call Theo about the piano tomorrow at lunch',
      tasks: ['Renew the domain @ 2026-04-02 12:00', 'Call Theo about the piano @ 2026-03-13 12:00'],
    },
    {
      said: "A: send me your slides / O: I'll send you them on monday night",
      tasks: ['Send Anna my slides @ 2026-03-16 20:00'],
    },
    {
      said: 'A: cut it by half and send it to me by the seventh of april / O: half by the seventh okay',
      tasks: ['Cut it by half and send it to Anna @ 2026-04-07 12:00'],
    },
    {
      said: "O: I'll rent a storage unit this week, by Friday. / A: good",
      tasks: ['Rent a storage unit @ 2026-03-13 12:00'],
    },
    {
      said: "O: we'll have the room empty by the twenty eighth / A: fine",
      tasks: ['Have the room empty @ 2026-03-28 12:00'],
    },
  ],
  de: [
    {
      said: 'A: Hast du den Schornsteinfeger zurückgerufen? / O: Mist, nee. Mach ich morgen.',
      tasks: ['Den Schornsteinfeger zurückrufen @ 2026-03-13 12:00'],
    },
    {
      said: 'A: übernimmst du am Freitag meine Schicht? / O: Geht klar.',
      tasks: ['Meine Schicht übernehmen @ 2026-03-13 12:00'],
    },
    {
      said: "A: Rufen S' bitte im Therapiezentrum an. / O: Das erledige ich morgen.",
      tasks: ['Im Therapiezentrum anrufen @ 2026-03-13 12:00'],
    },
    {
      said: 'O: ich ruf den Vermieter morgen an vorher ist er im Urlaub',
      tasks: ['Den Vermieter anrufen @ 2026-03-13 12:00'],
    },
    {
      said: 'O: Ich schicke die Abrechnung bis Ende nächster Woche.',
      tasks: ['Die Abrechnung schicken @ 2026-03-20 12:00'],
    },
    {
      said: 'O: Ich rufe übernächste Woche Dienstag den Arzt an.',
      tasks: ['Den Arzt anrufen @ 2026-03-24 12:00'],
    },
    {
      said: 'O: Ich rufe am Dienstag nach Ostern den Optiker an.',
      tasks: ['Den Optiker anrufen @ 2026-04-07 12:00'],
    },
    {
      said: 'O: Ich zahle die Miete bis spätestens Anfang Juni.',
      tasks: ['Die Miete zahlen @ 2026-06-01 12:00'],
    },
    {
      said: 'O: Ich muss die Karten bis Ende April bezahlen.',
      tasks: ['Die Karten bezahlen @ 2026-04-30 12:00'],
    },
    {
      said: 'O: Ich bestelle die Reifen in einem Monat.',
      tasks: ['Die Reifen bestellen @ 2026-04-12 12:00'],
    },
    {
      said: 'A: Seien Sie so lieb und bestellen Impfstoff nach. / O: Alles klar, morgen.',
      tasks: ['Impfstoff nachbestellen @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Würde es dir was ausmachen, die Tomaten zu gießen? / O: Überhaupt nicht.',
      tasks: ['Die Tomaten gießen'],
    },
    {
      said: 'A: Das Rezept müsste einer abholen. / O: Das übernehm ich.',
      tasks: ['Das Rezept abholen'],
    },
    {
      said: 'A: Die Abrechnung, wie weit sind wir da? / O: Die bekommen Sie bis Freitag von mir.',
      tasks: ['Die Abrechnung @ 2026-03-13 12:00'],
    },
    {
      said: 'O: Dann kümmere ich mich um das Muster.',
      tasks: ['Um das Muster kümmern'],
    },
    {
      said: 'A: Dazu bräuchte ich noch eine Kopie. / O: Schick ich dir morgen.',
      tasks: ['Anna eine Kopie schicken @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Die Druckerpatronen sind leer. / O: Bestell ich nachher gleich mit.',
      tasks: ['Die Druckerpatronen bestellen'],
    },
    {
      said: 'A: Ich brauche neue Farben. / O: Gut, dann holen wir die morgen.',
      tasks: ['Neue Farben holen @ 2026-03-13 12:00'],
    },
    {
      said: 'A: die Einladungen, zehn Stück, bitte bis Freitag verschicken / O: ist gut',
      tasks: ['Die Einladungen, zehn Stück verschicken @ 2026-03-13 12:00'],
    },
    { said: 'A: ich habe ein Paket für Sie / O: danke das hole ich nachher', tasks: ['Ein Paket holen'] },
    {
      said: 'O: ich schicke dir morgen den Vertrag zu / A: super',
      tasks: ['Anna den Vertrag zuschicken @ 2026-03-13 12:00'],
    },
    { said: 'O: ich ruf dich morgen Abend an / A: gut', tasks: ['Anna anrufen @ 2026-03-13 20:00'] },
    { said: 'A: kannst du noch Milch mitbringen / O: ja klar', tasks: ['Milch mitbringen'] },
    {
      said: 'A: bringst du mir am Samstag die Leiter mit / O: mach ich',
      tasks: ['Anna die Leiter mitbringen @ 2026-03-14 12:00'],
    },
    { said: 'A: vergiss nicht die Oma anzurufen / O: nein vergesse ich nicht', tasks: ['Die Oma anrufen'] },
    {
      said: '3: Dann überweisen Sie die Anzahlung bitte bis zum Fünfzehnten. / O: Gut, die überweise ich bis zum Fünfzehnten.',
      tasks: ['Die Anzahlung überweisen @ 2026-03-15 12:00'],
    },
    {
      said: 'O: Notiz an mich morgen früh das Auto in die Werkstatt bringen',
      tasks: ['Das Auto in die Werkstatt bringen @ 2026-03-13 08:00'],
    },
    { said: 'O: und am Montag die Blumen gießen', tasks: ['Die Blumen gießen @ 2026-03-16 12:00'] },
    {
      said: 'A: wer holt denn die Kinder ab / O: ich hole sie um vier ab',
      tasks: ['Die Kinder abholen @ 2026-03-12 16:00'],
    },
    {
      said: 'A: Sie müssen mir bis Ende des Monats die Unterlagen schicken / O: alles klar bis Ende des Monats',
      tasks: ['Anna die Unterlagen schicken @ 2026-03-31 12:00'],
    },
    {
      said: 'A: das Formular muss bis Freitag ins Sekretariat / O: okay Formular bis Freitag ins Sekretariat',
      tasks: ['Formular ins Sekretariat @ 2026-03-13 12:00'],
    },
    {
      said: 'A: ruf bitte nachher noch den Herrn Sawitzki an und zwar vor halb sieben / O: den Sawitzki vor halb sieben mach ich',
      tasks: ['Den Herrn Sawitzki anrufen @ 2026-03-12 18:30'],
    },
  ],
  fr: [
    {
      said: "O: c'est moi qui vais chercher le camion",
      tasks: ['Chercher le camion'],
    },
    {
      said: 'A: Vous devez prendre rendez-vous au secrétariat. / O: Oui, demain.',
      tasks: ['Prendre rendez-vous au secrétariat @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Tu as vu l’affiche ? / O: je peux la refaire / A: vendu',
      tasks: ['Refaire l’affiche'],
    },
    {
      said: "O: Je règle la facture d'ici la fin de la semaine.",
      tasks: ['Régler la facture @ 2026-03-13 12:00'],
    },
    {
      said: "O: J'appelle le notaire en début de semaine prochaine.",
      tasks: ['Appeler le notaire @ 2026-03-16 12:00'],
    },
    {
      said: 'O: Je rends la remorque avant la fin du mois.',
      tasks: ['Rendre la remorque @ 2026-03-31 12:00'],
    },
    {
      said: "O: Je réserve le gîte d'ici fin juin.",
      tasks: ['Réserver le gîte @ 2026-06-30 12:00'],
    },
    {
      said: 'O: Je commande le gâteau le lendemain de Pâques.',
      tasks: ['Commander le gâteau @ 2026-04-06 12:00'],
    },
    {
      said: "A: Le devis, tu me l'envoies quand ? / O: Tu l'auras d'ici vendredi.",
      tasks: ['Envoyer le devis @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Merci de nous fournir une ordonnance. / O: Entendu.',
      tasks: ['Fournir une ordonnance'],
    },
    {
      said: "O: Je m'occupe de la glacière.",
      tasks: ["M'occuper de la glacière"],
    },
    {
      said: 'A: Qui réserve le camping ? / O: Je peux le faire.',
      tasks: ['Réserver le camping'],
    },
    {
      said: 'O: Ma sœur est couturière, je vais lui demander demain.',
      tasks: ['Demander à ma sœur @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Est-ce que tu aurais le temps de relire le contrat ? / O: Oui, demain.',
      tasks: ['Relire le contrat @ 2026-03-13 12:00'],
    },
    { said: 'O: je passe à la pharmacie en rentrant', tasks: ['Passer à la pharmacie en rentrant'] },
    {
      said: "O: je t'envoie le contrat demain matin / A: parfait",
      tasks: ['Envoyer le contrat @ 2026-03-13 09:00'],
    },
    {
      said: 'A: tu peux acheter du pain en rentrant / O: oui pas de problème',
      tasks: ['Acheter du pain en rentrant'],
    },
    {
      said: "A: n'oublie pas de rappeler le plombier / O: non non je le ferai ce soir",
      tasks: ['Rappeler le plombier @ 2026-03-12 20:00'],
    },
    {
      said: "O: il faut que j'appelle le dentiste avant vendredi / A: oui",
      tasks: ['Appeler le dentiste @ 2026-03-13 12:00'],
    },
    {
      said: 'O: je dois rendre les livres à la bibliothèque lundi prochain',
      tasks: ['Rendre les livres à la bibliothèque @ 2026-03-16 12:00'],
    },
    {
      said: "A: qui apporte le dessert / O: moi j'apporterai une tarte samedi",
      tasks: ['Apporter une tarte @ 2026-03-14 12:00'],
    },
    {
      said: "A: on se retrouve samedi à dix heures devant la gare / O: ok j'apporte les billets",
      tasks: ['Apporter les billets @ 2026-03-14 10:00'],
    },
  ],
  es: [
    {
      said: 'A: el regalo está sin envolver y la bombilla fundida / O: Mañana la cambio, hoy no puedo.',
      tasks: ['Cambiar la bombilla fundida @ 2026-03-13 12:00'],
    },
    {
      said: 'O: el hotel lo miro yo mañana',
      tasks: ['Mirar el hotel @ 2026-03-13 12:00'],
    },
    {
      said: 'O: el informe lo tengo que mandar mañana',
      tasks: ['Mandar el informe @ 2026-03-13 12:00'],
    },
    {
      said: 'A: hay que cambiar la puerta / O: Yo la cambio mañana / A: gracias / O: No te preocupes.',
      tasks: ['Cambiar la puerta @ 2026-03-13 12:00'],
    },
    {
      said: 'O: Pago el alquiler a principios de mayo.',
      tasks: ['Pagar el alquiler @ 2026-05-01 12:00'],
    },
    {
      said: 'O: Reservo la mesa para finales de la semana que viene.',
      tasks: ['Reservar la mesa @ 2026-03-20 12:00'],
    },
    {
      said: 'O: Mando las fotos a más tardar el martes.',
      tasks: ['Mandar las fotos @ 2026-03-17 12:00'],
    },
    {
      said: 'O: Mando el correo esta misma noche.',
      tasks: ['Mandar el correo @ 2026-03-12 20:30'],
    },
    {
      said: 'A: ¿Los menús, para cuándo los tendrás? / O: Para el viernes te los paso.',
      tasks: ['Los menús @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Encárgate de comprar el regalo. / O: Mañana sin falta.',
      tasks: ['Comprar el regalo @ 2026-03-13 12:00'],
    },
    {
      said: 'A: Si puedes traer la camioneta el sábado, mejor. / O: Dale.',
      tasks: ['Traer la camioneta @ 2026-03-14 12:00'],
    },
    {
      said: 'A: ¿Te importaría traer el altavoz? / O: Hecho.',
      tasks: ['Traer el altavoz'],
    },
    {
      said: 'A: hay que cambiar la bombilla del pasillo / O: mañana la cambio',
      tasks: ['Cambiar la bombilla del pasillo @ 2026-03-13 12:00'],
    },
    { said: 'O: mañana llamo al fontanero / A: vale', tasks: ['Llamar al fontanero @ 2026-03-13 12:00'] },
    { said: 'A: puedes comprar leche cuando vuelvas / O: sí claro', tasks: ['Comprar leche'] },
    {
      said: 'A: no te olvides de pagar el alquiler / O: no no lo pago el lunes',
      tasks: ['Pagar el alquiler @ 2026-03-16 12:00'],
    },
    {
      said: 'O: tengo que llevar el coche al taller el viernes que viene / A: ah',
      tasks: ['Llevar el coche al taller @ 2026-03-13 12:00'],
    },
    {
      said: 'O: voy a mandarle el informe a Pedro antes del martes / A: bien',
      tasks: ['Mandar el informe a Pedro @ 2026-03-17 12:00'],
    },
    {
      said: 'A: hay que reservar mesa para el domingo / O: yo me encargo',
      tasks: ['Reservar mesa @ 2026-03-15 12:00'],
    },
    {
      said: 'A: me mandas las fotos / O: sí te las mando esta noche',
      tasks: ['Mandar las fotos @ 2026-03-12 20:30'],
    },
  ],
};

/** Sentences that are not tasks: refused, done, past, wished, about others, from television, or a state. */
export const NO_TASKS: Readonly<Record<string, readonly string[]>> = {
  en: [
    'A: they like you. Do you mind? / O: Not at all.',
    "A: you'll want to rest for a day / O: okay",
    'B: turn it off at the wall / O: I will do that this second',
    'B: they need to fix that on Friday / O: yeah',
    'B: she has got to call the bank / O: yes',
    'B: kids need some space / O: right',
    "A: Would you mind driving? / O: No, I can't drive.",
    "O: I told him I'd call the police.",
    "A: They're late, may I come in? / O: sure",
    "O: I've had this cold since Christmas and need to see someone",
    'A: I swim every second Tuesday. / O: good for you',
    "A: you haven't changed / O: I know",
    'A: Put the eggs out for the Easter bunny. / O: ha',
    "O: One day I'll buy a boat.",
    'A: before you go the inspection is tomorrow at seven / O: okay',
    "A: Call-out's a hundred and twenty. / O: Fine. See you Friday.",
    "A: The meeting is on Monday. / O: I'll put that in my diary.",
    'B: can you close the window please / O: yes of course',
    'B: you have to see that film / O: yeah sure',
    "B: who was that / O: I'll tell you later",
    'B: can you hold this for a second / O: sure',
    "A: can you drive us home / O: sorry I can't",
    'A: send me that picture / O: sending it now there done',
    'A: did you pay the invoice / O: paid it on friday',
    "A: you should write to your brother / O: he picks us up anyway / A: fine then don't write",
    "O: maybe one day I'll learn the cello",
    'A: if this happens again you have to pay / O: sure',
    'O: I paid the electric last night so cross that off',
    '5: call now and order the blender today / O: turn it off',
    'O: I used to call her every monday',
    "A: she said I'll call the bank tomorrow / O: and did she",
    'A: Ben can you bring the grill / B: sure / O: good',
    'O: I work at the post office',
  ],
  de: [
    'B: Die Leitung müssen sie am Freitag verlegen. / O: Genau.',
    'B: Er muss noch den Rasen mähen. / O: Ja.',
    'A: So Leute, Plan für die Woche. / O: Ja, gut.',
    'A: da hängen wir hinterher / O: ich weiß',
    'A: Der Elternabend ist am Dienstag. / O: Das trag ich mir gleich ein.',
    'B: kannst du bitte das Fenster schließen / O: ja klar',
    'A: holst du morgen die Kinder ab / O: nein morgen kann ich nicht',
    'A: hast du den Klempner angerufen / O: ja gestern schon',
    'O: ich gehe jeden Morgen um sechs laufen / A: Respekt',
    'O: ich würde ja gern mitkommen aber ich habe keine Zeit / A: schade',
    'O: wenn ich im Lotto gewinne kaufe ich mir ein Boot / A: haha',
    'A: der Chef hat gesagt ich soll die Rechnung schreiben / O: aha',
    'A: Ben kannst du den Grill mitbringen / B: klar / O: gut',
    '5: Rufen Sie jetzt an und sichern Sie sich das Angebot. / O: so ein Quatsch',
    'O: ich arbeite bei der Post / A: schön',
  ],
  fr: [
    'O: Bonjour, je vous appelle au sujet de mon vélo.',
    "O: Désherbé toute l'allée.",
    'B: tu peux fermer la fenêtre / O: oui bien sûr',
    "O: si j'avais le temps j'apprendrais le piano / A: moi aussi",
    "O: je n'achète jamais de viande / A: ah bon",
    "A: il m'a dit je vais appeler la banque / O: et alors",
    'O: je vais au cinéma ce soir / A: chouette',
  ],
  es: [
    'O: me falta el presupuesto de imprenta',
    'A: enséñame las croquetas / O: otro día',
    'O: Llevo quince años pidiéndolo.',
    'A: Acuérdate de que el viernes viene el técnico. / O: Es verdad.',
    'O: Mi hija ya sacó el pase.',
    'B: ¿puedes cerrar la ventana? / O: sí claro',
    'O: si tuviera dinero compraría un barco / A: ja ja',
    'O: no voy a llamar al banco / A: bueno',
    'A: ya has llamado al seguro / O: sí ayer',
    'O: me llamo Ada / A: encantado',
  ],
};
